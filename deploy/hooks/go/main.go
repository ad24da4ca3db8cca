// A hook: addresses of one domain may sign up, sessions get a claim, and text messages go to some countries only.
package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"strings"

	"google.golang.org/genproto/protobuf/field_mask"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	hooks "latchkey.example/gen/latchkey/hooks/v1"
)

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func path(name string) string { return filepath.Join(setting("HOOK_FOLDER", ".latchkey"), name) }

func claims(values map[string]any) string { return string(must(json.Marshal(values))) }

type rules struct{ domain string }

func (r rules) BeforeCreate(
	_ context.Context, request *hooks.BeforeCreateRequest,
) (*hooks.BeforeCreateResponse, error) {
	if !strings.HasSuffix(request.GetAccount().GetEmail(), "@"+r.domain) {
		deny := &hooks.Deny{Code: "DOMAIN", Reason: "Only for addresses of " + r.domain + "."}
		return &hooks.BeforeCreateResponse{Answer: &hooks.BeforeCreateResponse_Deny{Deny: deny}}, nil
	}
	allow := &hooks.Allow{
		UpdateMask:       &field_mask.FieldMask{Paths: []string{"custom_claims_json"}},
		CustomClaimsJson: claims(map[string]any{"member": true}),
	}
	return &hooks.BeforeCreateResponse{Answer: &hooks.BeforeCreateResponse_Allow{Allow: allow}}, nil
}

func (rules) BeforeSignIn(_ context.Context, request *hooks.BeforeSignInRequest) (*hooks.BeforeSignInResponse, error) {
	allow := &hooks.Allow{SessionClaimsJson: claims(map[string]any{"by": request.GetLogin().GetProviderId()})}
	return &hooks.BeforeSignInResponse{Answer: &hooks.BeforeSignInResponse_Allow{Allow: allow}}, nil
}

func (rules) BeforeSend(_ context.Context, request *hooks.BeforeSendRequest) (*hooks.BeforeSendResponse, error) {
	number := request.GetPhoneNumber()
	if number != "" && !strings.HasPrefix(number, "+43") && !strings.HasPrefix(number, "+49") {
		return &hooks.BeforeSendResponse{Deny: &hooks.Deny{Code: "COUNTRY"}}, nil
	}
	return &hooks.BeforeSendResponse{}, nil
}

func main() {
	authority := x509.NewCertPool()
	if !authority.AppendCertsFromPEM(must(os.ReadFile(path("authority.pem")))) {
		log.Fatal("no authority")
	}
	// Only Latchkey has a certificate of this authority.
	secure := credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{must(tls.LoadX509KeyPair(path("server.pem"), path("server.key")))},
		ClientAuth:   tls.RequireAndVerifyClientCert, ClientCAs: authority, MinVersion: tls.VersionTLS12,
	})
	server := grpc.NewServer(grpc.Creds(secure))
	hooks.RegisterHookServiceServer(server, rules{setting("HOOK_DOMAIN", "example.com")})
	listener := must(net.Listen("tcp", setting("HOOK_ADDRESS", "localhost:8444")))
	fmt.Printf("listening on port %d\n", listener.Addr().(*net.TCPAddr).Port)
	log.Fatal(server.Serve(listener))
}
