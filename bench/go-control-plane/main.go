// Serves endpoint assignments with go-control-plane's linear cache, as a peer for bench/xds-fanout.ts.
//
// main ADDRESS ASSIGNMENTS ENDPOINTS; prints "ready" once it listens. Each line of standard input changes one
// endpoint: "one NUMBER" of that assignment, "burst NUMBER" of every assignment at once; NUMBER makes it a change.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpoint "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

func name(i int) string { return fmt.Sprintf("composite/shop/b%d/tcp-80", i) }

func address(ip string) *core.Address {
	return &core.Address{Address: &core.Address_SocketAddress{SocketAddress: &core.SocketAddress{
		Address: ip, PortSpecifier: &core.SocketAddress_PortValue{PortValue: 8080},
	}}}
}

func assignment(i, endpoints, generation int) *endpoint.ClusterLoadAssignment {
	members := make([]*endpoint.LbEndpoint, endpoints)
	for e := range members {
		ip := fmt.Sprintf("10.%d.%d.%d", 10+e, i>>8, i&255)
		if e == 0 {
			ip = fmt.Sprintf("11.%d.%d.%d", generation>>16&255, generation>>8&255, generation&255)
		}
		members[e] = &endpoint.LbEndpoint{HostIdentifier: &endpoint.LbEndpoint_Endpoint{
			Endpoint: &endpoint.Endpoint{Address: address(ip)},
		}}
	}
	return &endpoint.ClusterLoadAssignment{
		ClusterName: name(i),
		Endpoints: []*endpoint.LocalityLbEndpoints{{
			Locality:            &core.Locality{Region: "eu", Zone: "a", SubZone: "east"},
			LbEndpoints:         members,
			LoadBalancingWeight: wrapperspb.UInt32(uint32(endpoints)),
		}},
	}
}

func number(text string) int {
	n, err := strconv.Atoi(text)
	if err != nil {
		log.Fatalf("expected a number, found %q", text)
	}
	return n
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("expected ADDRESS ASSIGNMENTS ENDPOINTS")
	}
	assignments, endpoints := number(os.Args[2]), number(os.Args[3])
	all := func(generation int) map[string]types.Resource {
		made := make(map[string]types.Resource, assignments)
		for i := range assignments {
			made[name(i)] = assignment(i, endpoints, generation)
		}
		return made
	}
	linear := cache.NewLinearCache(resource.EndpointType, cache.WithInitialResources(all(0)))
	mux := &cache.MuxCache{
		Classify:      func(r *cache.Request) string { return r.GetTypeUrl() },
		ClassifyDelta: func(r *cache.DeltaRequest) string { return r.GetTypeUrl() },
		Caches:        map[string]cache.Cache{resource.EndpointType: linear},
	}
	listener, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	serving := grpc.NewServer()
	discovery.RegisterAggregatedDiscoveryServiceServer(serving, server.NewServer(context.Background(), mux, nil))
	go func() { log.Fatal(serving.Serve(listener)) }()
	fmt.Println("ready")

	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var what string
		var generation int
		if _, err := fmt.Sscan(lines.Text(), &what, &generation); err != nil {
			log.Fatalf("expected a command and a number, found %q", lines.Text())
		}
		switch what {
		case "one":
			i := generation % assignments
			err = linear.UpdateResource(name(i), assignment(i, endpoints, generation))
		case "burst":
			err = linear.UpdateResources(all(generation), nil)
		default:
			log.Fatalf("expected one or burst, found %q", what)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}
