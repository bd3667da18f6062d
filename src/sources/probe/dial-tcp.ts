import { connect } from 'node:net';

/** Answers to a SYN that is lost come a second later: by then it counts as failed. */
const timeoutMs = 1_000;

/** Whether `<address> <port>` takes a TCP connection within a second. It is closed at once; nothing is sent. */
export function dialTcp(place: string): Promise<boolean> {
  const [host = '', port] = place.split(' ');
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port), timeout: timeoutMs });
    const end = (passed: boolean): void => {
      socket.destroy();
      resolve(passed);
    };
    socket.once('connect', () => end(true));
    socket.once('timeout', () => end(false));
    socket.once('error', () => end(false));
  });
}
