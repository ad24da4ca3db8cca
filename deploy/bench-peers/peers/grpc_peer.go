// The counterpart of grpc_peer.cpp on grpc-go: two methods, the same certificate, answers from a map. `taskset` and
// GOMAXPROCS keep it on one core.
package main

import (
	"context"
	"fmt"
	"log"
	"net"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	latchkeyv1 "latchkey.example/gen/latchkey/v1"
)

type authService struct {
	latchkeyv1.UnimplementedAuthServiceServer
	methods map[string][]string
}

func (service *authService) FetchProviders(
	_ context.Context, request *latchkeyv1.FetchProvidersRequest,
) (*latchkeyv1.FetchProvidersResponse, error) {
	found, registered := service.methods[request.GetEmail()]
	return &latchkeyv1.FetchProvidersResponse{Registered: registered, ProviderIds: found, SignInMethods: found}, nil
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: grpc_peer FOLDER PORT ACCOUNTS")
	}
	folder, port := os.Args[1], os.Args[2]
	accounts, err := strconv.Atoi(os.Args[3])
	if err != nil {
		log.Fatal(err)
	}
	methods := make(map[string][]string, accounts)
	known := []string{"password", "google.com"}
	for number := 0; number < accounts; number++ {
		methods[fmt.Sprintf("person%d@example.com", number)] = known
	}
	tls, err := credentials.NewServerTLSFromFile(folder+"/server.pem", folder+"/server.key")
	if err != nil {
		log.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	server := grpc.NewServer(grpc.Creds(tls))
	// It answers SERVING for the empty service name from the start.
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	latchkeyv1.RegisterAuthServiceServer(server, &authService{methods: methods})
	log.Fatal(server.Serve(listener))
}
