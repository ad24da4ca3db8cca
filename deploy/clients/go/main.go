// Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run.
package main

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	_ "google.golang.org/grpc/health" // For healthCheckConfig of the service configuration.
	"google.golang.org/grpc/status"
	latchkey "latchkey.example/gen/latchkey/v1"
)

type apiKey string

func (key apiKey) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer " + string(key)}, nil
}
func (apiKey) RequireTransportSecurity() bool { return true }

func must[T any](value T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return value
}

func setting(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func path(name string) string { return filepath.Join(setting("LATCHKEY_HOME", ".latchkey"), name) }

func connect(config *tls.Config, options ...grpc.DialOption) *grpc.ClientConn {
	config.RootCAs = x509.NewCertPool()
	if !config.RootCAs.AppendCertsFromPEM(must(os.ReadFile(path("authority.pem")))) {
		log.Fatal("no authority")
	}
	options = append(options, grpc.WithTransportCredentials(credentials.NewTLS(config)),
		grpc.WithDefaultServiceConfig(string(must(os.ReadFile("proto/service-config.json")))))
	// From gRPC 1.63 on, use grpc.NewClient.
	return must(grpc.Dial("dns:///"+setting("LATCHKEY_SERVER", "localhost:8443"), options...))
}

func random() string {
	bytes := make([]byte, 16)
	must(rand.Read(bytes))
	return hex.EncodeToString(bytes)
}

func errorInfo(err error) *errdetails.ErrorInfo {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok && info.GetDomain() == "latchkey" {
			return info
		}
	}
	return nil
}

// sessionHolder keeps one user's session. One refresh runs at a time.
type sessionHolder struct {
	mutex   sync.Mutex
	service latchkey.SessionServiceClient
	session *latchkey.Session
	key     string // The idempotency key of the next refresh. A repeat after a lost response needs the same key.
}

func (holder *sessionHolder) take(session *latchkey.Session) {
	holder.session, holder.key = session, random() // Store both here.
}

func (holder *sessionHolder) idToken(ctx context.Context) (string, error) {
	holder.mutex.Lock()
	defer holder.mutex.Unlock()
	if holder.session.GetIdTokenExpiresAt().GetSeconds()-time.Now().Unix() < 300 {
		response, err := holder.service.Refresh(ctx, &latchkey.RefreshRequest{
			RefreshToken: holder.session.GetRefreshToken(), IdempotencyKey: holder.key})
		if err != nil {
			return "", err
		}
		holder.take(response.GetSession())
	}
	return holder.session.GetIdToken(), nil
}

// watch returns the cursor of the wanted event. It calls again with the last cursor when the connection ends.
func watch(ctx context.Context, cursor string, wanted func(*latchkey.Event) bool) string {
	connection := connect(&tls.Config{Certificates: []tls.Certificate{
		must(tls.LoadX509KeyPair(path("admin.pem"), path("admin.key")))}})
	defer connection.Close()
	for ; ; time.Sleep(time.Second) {
		stream, err := latchkey.NewEventServiceClient(connection).Watch(ctx, &latchkey.WatchRequest{Cursor: cursor})
		for err == nil {
			var response *latchkey.WatchResponse
			if response, err = stream.Recv(); err != nil {
				break
			}
			cursor = response.GetCursor() // Store it here, after the event is processed.
			if wanted(response.GetEvent()) {
				return cursor
			}
		}
		if status.Code(err) != codes.Unavailable {
			log.Fatal(err)
		}
	}
}

func main() {
	ctx := context.Background()
	key := strings.TrimSpace(string(must(os.ReadFile(path("web.apikey")))))
	web := connect(&tls.Config{}, grpc.WithPerRPCCredentials(apiKey(key)))
	defer web.Close()
	accounts, auth := latchkey.NewAccountServiceClient(web), latchkey.NewAuthServiceClient(web)
	cursor := watch(ctx, "now", func(*latchkey.Event) bool { return true })

	signIn := func(credential *latchkey.Credential) (*latchkey.SignInResponse, error) {
		return auth.SignIn(ctx, &latchkey.SignInRequest{Credential: credential, IdempotencyKey: random()})
	}
	byPassword := func(email, password string) *latchkey.Credential {
		return &latchkey.Credential{Kind: &latchkey.Credential_Password{
			Password: &latchkey.PasswordCredential{Email: email, Password: password}}}
	}
	person, password := random(), random()
	email := person + "@example.com"
	created := must(accounts.Create(ctx, &latchkey.CreateRequest{
		Email: email, Password: password, IdempotencyKey: random()})).GetSession().GetAccount()
	token := must(exec.Command("deploy/mint", "--issuer", "corp", "--subject", person, "--email", email).Output())
	company := &latchkey.Credential{Kind: &latchkey.Credential_ProviderToken{
		ProviderToken: &latchkey.ProviderTokenCredential{
			ProviderId: "oidc.corp", IdToken: strings.TrimSpace(string(token))}}}
	pending := must(signIn(company)).GetAccountExists().GetPendingToken()
	ways := must(auth.FetchProviders(ctx, &latchkey.FetchProvidersRequest{
		Subject: &latchkey.FetchProvidersRequest_PendingToken{PendingToken: pending}}))
	fmt.Println("conflict: the account has", strings.Join(ways.GetSignInMethods(), " "))
	session := must(signIn(byPassword(email, password))).GetSession()
	linked := must(auth.Link(ctx, &latchkey.LinkRequest{IdToken: session.GetIdToken(), IdempotencyKey: random(),
		Credential: &latchkey.Credential{Kind: &latchkey.Credential_PendingToken{PendingToken: pending}}})).GetSession()
	again := must(signIn(company)).GetSession().GetAccount()
	if again.GetAccountId() != created.GetAccountId() {
		log.Fatal("another account")
	}
	fmt.Println("linked:", again.GetProviders()[0].GetProviderId(), again.GetProviders()[1].GetProviderId())

	_, err := signIn(byPassword("not an address", "secret"))
	fmt.Println("error:", errorInfo(err).GetReason(), errorInfo(err).GetMetadata()["field"])

	linked.IdTokenExpiresAt.Seconds = time.Now().Unix() // As if it were about to expire.
	holder := &sessionHolder{service: latchkey.NewSessionServiceClient(web)}
	holder.take(linked)
	tokens, wait := sync.Map{}, sync.WaitGroup{}
	for i := 0; i < 8; i++ {
		wait.Add(1)
		go func() { defer wait.Done(); tokens.Store(must(holder.idToken(ctx)), true) }()
	}
	wait.Wait()
	count := 0
	tokens.Range(func(any, any) bool { count++; return true })
	fmt.Println("refreshed: tokens of 8 goroutines:", count)

	watch(ctx, cursor, func(event *latchkey.Event) bool {
		return event.GetType() == latchkey.EventType_EVENT_TYPE_LINKED && event.GetAccountId() == created.GetAccountId()
	})
	fmt.Println("events: LINKED after a new connection")
}
