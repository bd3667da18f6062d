import { existsSync } from 'node:fs';
import type { HostAddress } from './address-plan.ts';

/** Lines for `ip -batch`, in the families that this machine has. */
export class Routing {
  readonly ipv6 = existsSync('/proc/sys/net/ipv6');

  /** The addresses that this machine can use, IPv4 first. */
  families(address: HostAddress): readonly string[] {
    return this.ipv6 ? [address.v4, address.v6] : [address.v4];
  }

  /** Near end of a link, the gateway of whoever is at the far end. */
  nearEnd(link: string, address: HostAddress): string[] {
    const v6 = [
      `address add fe80::1/64 dev ${link} nodad`,
      `address add ${address.v6}/128 dev ${link} nodad`,
    ];
    return [`address add ${address.v4}/32 dev ${link}`, ...(this.ipv6 ? v6 : []), `link set ${link} up`];
  }

  /** Far end of a link: one address per family, a default route through the near end. */
  farEnd(link: string, own: HostAddress, gateway: HostAddress): string[] {
    const v6 = [
      `address add ${own.v6}/128 dev ${link} nodad`,
      `address add fe80::2/64 dev ${link} nodad`,
      `route add default via fe80::1 dev ${link}`,
    ];
    return [
      `address add ${own.v4}/32 dev ${link}`,
      `link set ${link} up`,
      `route add default via ${gateway.v4} dev ${link} onlink`,
      ...(this.ipv6 ? v6 : []),
    ];
  }

  /** Routes to a host or range. */
  routes(type: '' | 'unreachable', to: HostAddress, way = ''): string[] {
    const v6 = [`route replace ${type} ${to.v6} ${way}`];
    return [`route replace ${type} ${to.v4} ${way}`, ...(this.ipv6 ? v6 : [])];
  }

  /** For the router: sends a range to the node at the far end of a link. */
  routesThrough(link: string, node: HostAddress, range: HostAddress): string[] {
    const v6 = [`route replace ${range.v6} via fe80::2 dev ${link}`];
    return [`route replace ${range.v4} via ${node.v4} dev ${link} onlink`, ...(this.ipv6 ? v6 : [])];
  }
}
