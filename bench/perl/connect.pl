# Opens connections as fast as it can, one at a time, in the namespace it is started in. Times are of the monotonic
# clock in nanoseconds, which is the same for all processes of the machine. Reads one command a line:
#
#   reach ADDRESS PORT PREFIX   connects and asks "who" until an answer begins with PREFIX; says "trying" before the
#                               first connection, then "reached START TRIES FAILED": when that connection was begun
#   latency COUNT ADDRESS:PORT… connects COUNT times to each, in turns of 50; says "latency ADDRESS:PORT US US …"
#                               for each: microseconds until connect returned
use strict; use warnings; use Socket; use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
$| = 1;
my $reset = pack('ii', 1, 0);
my $limit = pack('l!l!', 3, 0);

sub now { return clock_gettime(CLOCK_MONOTONIC); }

# Ends with a reset, so that no port is kept.
sub opened {
  socket(my $s, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
  setsockopt($s, SOL_SOCKET, SO_LINGER, $reset);
  setsockopt($s, SOL_SOCKET, SO_SNDTIMEO, $limit);
  setsockopt($s, SOL_SOCKET, SO_RCVTIMEO, $limit);
  return $s;
}

sub ask {
  my ($to) = @_;
  my $s = opened();
  connect($s, $to) or return undef;
  syswrite($s, "who\n") or return undef;
  my $text = '';
  while ($text !~ /\n/) { sysread($s, $text, 256, length $text) or return undef; }
  return $text;
}

while (my $line = <STDIN>) {
  my ($command, @args) = split ' ', $line;
  if ($command eq 'reach') {
    my ($address, $port, $prefix) = @args;
    my $to = sockaddr_in($port, inet_aton($address));
    my ($tries, $failed) = (0, 0);
    print "trying\n";
    while (1) {
      my $start = now();
      my $answer = ask($to);
      $tries++;
      if (!defined $answer) { $failed++; select undef, undef, undef, 0.001; next; }
      if (index($answer, $prefix) == 0) { printf "reached %.0f %d %d\n", $start * 1e9, $tries, $failed; last; }
    }
  } elsif ($command eq 'latency') {
    my ($count, @addresses) = @args;
    my %taken = map { $_ => [] } @addresses;
    for (my $done = 0; $done < $count; $done += 50) {
      for my $address (@addresses) {
        my ($host, $port) = split /:/, $address;
        my $end = sockaddr_in($port, inet_aton($host));
        for (1 .. 50) {
          my $s = opened();
          my $start = now();
          connect($s, $end) or die "connect $address: $!";
          push @{ $taken{$address} }, (now() - $start) * 1e6;
          close $s;
        }
      }
    }
    print join(' ', 'latency', $_, map { sprintf '%.2f', $_ } @{ $taken{$_} }), "\n" for @addresses;
  }
}
