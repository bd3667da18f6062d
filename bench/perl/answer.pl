# Stands for many pods: listens on PORT of every address of the namespace it is started in, and answers one line of a
# connection with the address that it came to. Says "ready" once it listens.
use strict; use warnings; use Socket;
$| = 1;
my ($port) = @ARGV;
my $limit = pack('l!l!', 2, 0);
socket(my $listener, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
bind($listener, sockaddr_in($port, INADDR_ANY)) or die "bind: $!";
listen($listener, 1024) or die "listen: $!";
$SIG{PIPE} = 'IGNORE';
print "ready\n";
while (1) {
  accept(my $s, $listener) or next;
  setsockopt($s, SOL_SOCKET, SO_RCVTIMEO, $limit);
  my $line = '';
  sysread($s, $line, 256) or next;
  my $at = getsockname($s) or next;
  my (undef, $address) = sockaddr_in($at);
  syswrite($s, inet_ntoa($address) . "\n");
}
