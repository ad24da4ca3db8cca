import com.google.gson.Gson;
import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Timestamp;
import com.google.rpc.ErrorInfo;
import dev.latchkey.v1.*;
import io.grpc.*;
import io.grpc.protobuf.StatusProto;
import io.grpc.stub.MetadataUtils;
import java.io.IOException;
import java.nio.file.*;
import java.time.Instant;
import java.util.*;
import java.util.function.Predicate;
import java.util.stream.*;

/** Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run. */
public final class Main {
  static final String SERVER = System.getenv().getOrDefault("LATCHKEY_SERVER", "localhost:8443");
  static final Path HOME = Path.of(System.getenv().getOrDefault("LATCHKEY_HOME", ".latchkey"));

  static TlsChannelCredentials.Builder tls() throws IOException {
    return TlsChannelCredentials.newBuilder().trustManager(HOME.resolve("authority.pem").toFile());
  }

  static ManagedChannel connect(ChannelCredentials credentials, Metadata metadata) throws IOException {
    Map<String, ?> config = new Gson().fromJson(Files.readString(Path.of("proto/service-config.json")), Map.class);
    return Grpc.newChannelBuilder("dns:///" + SERVER, credentials)
        .intercept(MetadataUtils.newAttachHeadersInterceptor(metadata)).defaultServiceConfig(config)
        .enableRetry().build();
  }

  static Optional<ErrorInfo> errorInfo(StatusRuntimeException error) throws InvalidProtocolBufferException {
    com.google.rpc.Status status = StatusProto.fromThrowable(error);
    if (status == null) return Optional.empty();
    for (Any detail : status.getDetailsList()) {
      if (detail.is(ErrorInfo.class)) return Optional.of(detail.unpack(ErrorInfo.class));
    }
    return Optional.empty();
  }

  /** One user's session. One refresh runs at a time. */
  static final class SessionHolder {
    private final SessionServiceGrpc.SessionServiceBlockingStub service;
    private Session session;
    // The idempotency key of the next refresh. A repeat after a lost response needs the same key.
    private String key;

    SessionHolder(SessionServiceGrpc.SessionServiceBlockingStub service, Session session) {
      this.service = service;
      take(session);
    }

    synchronized String idToken() {
      if (session.getIdTokenExpiresAt().getSeconds() - Instant.now().getEpochSecond() < 300) {
        take(service.refresh(RefreshRequest.newBuilder().setRefreshToken(session.getRefreshToken())
            .setIdempotencyKey(key).build()).getSession());
      }
      return session.getIdToken();
    }

    private void take(Session next) {
      session = next;
      key = UUID.randomUUID().toString(); // Store both here.
    }
  }

  /** Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends. */
  static String watch(String cursor, Predicate<Event> wanted) throws IOException, InterruptedException {
    ChannelCredentials admin = tls().keyManager(HOME.resolve("admin.pem").toFile(), HOME.resolve("admin.key").toFile())
        .build();
    ManagedChannel channel = connect(admin, new Metadata());
    while (true) {
      try {
        Iterator<WatchResponse> responses = EventServiceGrpc.newBlockingStub(channel)
            .watch(WatchRequest.newBuilder().setCursor(cursor).build());
        while (responses.hasNext()) {
          WatchResponse response = responses.next();
          cursor = response.getCursor(); // Store it here, after the event is processed.
          if (!wanted.test(response.getEvent())) continue;
          channel.shutdownNow();
          return cursor;
        }
      } catch (StatusRuntimeException error) {
        if (error.getStatus().getCode() != Status.Code.UNAVAILABLE) throw error;
      }
      Thread.sleep(1000);
    }
  }

  static SignInRequest signIn(Credential credential) {
    return SignInRequest.newBuilder().setCredential(credential).setIdempotencyKey(UUID.randomUUID().toString()).build();
  }

  static Credential password(String email, String password) {
    return Credential.newBuilder()
        .setPassword(PasswordCredential.newBuilder().setEmail(email).setPassword(password)).build();
  }

  public static void main(String[] arguments) throws IOException, InterruptedException {
    String cursor = watch("now", event -> true);
    Metadata bearer = new Metadata();
    bearer.put(Metadata.Key.of("authorization", Metadata.ASCII_STRING_MARSHALLER),
        "Bearer " + Files.readString(HOME.resolve("web.apikey")).strip());
    ManagedChannel web = connect(tls().build(), bearer);
    var accounts = AccountServiceGrpc.newBlockingStub(web);
    var auth = AuthServiceGrpc.newBlockingStub(web);

    String person = UUID.randomUUID().toString(), secret = UUID.randomUUID().toString();
    String email = person + "@example.com";
    Account created = accounts.create(CreateRequest.newBuilder().setEmail(email).setPassword(secret)
        .setIdempotencyKey(UUID.randomUUID().toString()).build()).getSession().getAccount();
    Process mint = new ProcessBuilder("deploy/mint", "--issuer", "corp", "--subject", person, "--email", email).start();
    Credential company = Credential.newBuilder().setProviderToken(ProviderTokenCredential.newBuilder()
        .setProviderId("oidc.corp").setIdToken(new String(mint.getInputStream().readAllBytes()).strip())).build();
    String pending = auth.signIn(signIn(company)).getAccountExists().getPendingToken();
    List<String> ways = auth.fetchProviders(FetchProvidersRequest.newBuilder().setPendingToken(pending).build())
        .getSignInMethodsList();
    System.out.println("conflict: the account has " + String.join(" ", ways));

    Session known = auth.signIn(signIn(password(email, secret))).getSession();
    Session linked = auth.link(LinkRequest.newBuilder().setIdToken(known.getIdToken())
        .setCredential(Credential.newBuilder().setPendingToken(pending))
        .setIdempotencyKey(UUID.randomUUID().toString()).build()).getSession();
    Account again = auth.signIn(signIn(company)).getSession().getAccount();
    if (!again.getAccountId().equals(created.getAccountId())) throw new IllegalStateException("another account");
    System.out.println("linked: " + again.getProvidersList().stream().map(LinkedProvider::getProviderId).toList());

    try {
      auth.signIn(signIn(password("not an address", "secret")));
    } catch (StatusRuntimeException error) {
      ErrorInfo info = errorInfo(error).orElseThrow();
      System.out.println("error: " + info.getReason() + " " + info.getMetadataOrThrow("field"));
    }

    // As if the ID token were about to expire.
    linked = linked.toBuilder().setIdTokenExpiresAt(Timestamp.newBuilder().setSeconds(Instant.now().getEpochSecond()))
        .build();
    SessionHolder holder = new SessionHolder(SessionServiceGrpc.newBlockingStub(web), linked);
    Set<String> tokens = IntStream.range(0, 8).parallel().mapToObj(each -> holder.idToken())
        .collect(Collectors.toSet());
    if (tokens.size() != 1) throw new IllegalStateException("more than one refresh");
    System.out.println("refreshed: once for 8 threads");

    watch(cursor, event -> event.getType() == EventType.EVENT_TYPE_LINKED
        && event.getAccountId().equals(created.getAccountId()));
    System.out.println("events: LINKED after a new connection");
    web.shutdownNow();
  }
}
