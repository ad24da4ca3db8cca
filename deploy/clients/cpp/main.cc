// Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run.
#include <google/rpc/error_details.pb.h>
#include <google/rpc/status.pb.h>
#include <grpcpp/grpcpp.h>
#include <latchkey/v1/account_service.grpc.pb.h>
#include <latchkey/v1/auth_service.grpc.pb.h>
#include <latchkey/v1/event_service.grpc.pb.h>
#include <latchkey/v1/session_service.grpc.pb.h>

#include <chrono>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <future>
#include <iostream>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

using namespace latchkey::v1;

std::string setting(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value ? value : otherwise;
}

std::string read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string home(const char* name) { return read(setting("LATCHKEY_HOME", ".latchkey") + "/" + name); }
std::string one_line(const std::string& text) { return text.substr(0, text.find('\n')); }

std::string random_text() {
  std::random_device device;
  std::ostringstream text;
  for (int word = 0; word < 4; word++) text << std::hex << device();
  return text.str();
}

std::shared_ptr<grpc::Channel> connect(const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  arguments.SetServiceConfigJSON(read("proto/service-config.json"));
  return grpc::CreateCustomChannel(setting("LATCHKEY_SERVER", "localhost:8443"), credentials, arguments);
}

std::optional<google::rpc::ErrorInfo> error_info(const grpc::Status& status) {
  google::rpc::Status rich;
  google::rpc::ErrorInfo info;
  if (!rich.ParseFromString(status.error_details())) return std::nullopt;
  for (const auto& detail : rich.details())
    if (detail.UnpackTo(&info)) return info;
  return std::nullopt;
}

// Makes a unary call, and throws if it fails: `call<SignInResponse>(*auth, &AuthService::Stub::SignIn, request)`.
template <class Response, class Stub, class Method, class Request>
Response call(Stub& stub, Method method, const Request& request) {
  grpc::ClientContext context;
  Response response;
  const grpc::Status status = (stub.*method)(&context, request, &response);
  const auto info = error_info(status);
  if (info && info->metadata().count("field"))
    throw std::runtime_error(info->reason() + " " + info->metadata().at("field"));
  if (info) throw std::runtime_error(info->reason());
  if (!status.ok()) throw std::runtime_error(status.error_message());
  return response;
}

// Keeps one user's session. One refresh runs at a time.
class SessionHolder {
 public:
  SessionHolder(Session session, const std::shared_ptr<grpc::Channel>& channel)
      : service_(SessionService::NewStub(channel)) { take(std::move(session)); }

  std::string id_token() {
    const std::lock_guard lock(mutex_);
    if (session_.id_token_expires_at().seconds() - std::time(nullptr) < 300) {
      RefreshRequest request;
      request.set_refresh_token(session_.refresh_token());
      request.set_idempotency_key(key_);
      take(call<RefreshResponse>(*service_, &SessionService::Stub::Refresh, request).session());
    }
    return session_.id_token();
  }

 private:
  void take(Session session) {
    session_ = std::move(session);
    key_ = random_text();  // Store both here.
  }

  std::mutex mutex_;
  std::unique_ptr<SessionService::Stub> service_;
  Session session_;
  std::string key_;  // The idempotency key of the next refresh. A repeat after a lost response needs the same key.
};

// Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends.
std::string watch(std::string cursor, const std::function<bool(const Event&)>& wanted) {
  const auto events = EventService::NewStub(
      connect(grpc::SslCredentials({home("authority.pem"), home("admin.key"), home("admin.pem")})));
  while (true) {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);  // The library connects only while a call waits.
    WatchRequest request;
    request.set_cursor(cursor);
    const auto stream = events->Watch(&context, request);
    WatchResponse response;
    while (stream->Read(&response)) {
      cursor = response.cursor();  // Store it here, after the event is processed.
      if (!wanted(response.event())) continue;
      context.TryCancel();
      stream->Finish();
      return cursor;
    }
    const grpc::Status status = stream->Finish();
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) throw std::runtime_error(status.error_message());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
}

int main() {
  const std::string cursor = watch("now", [](const Event&) { return true; });
  const auto web = connect(grpc::CompositeChannelCredentials(
      grpc::SslCredentials({home("authority.pem"), "", ""}),
      grpc::AccessTokenCredentials(one_line(home("web.apikey")))));
  const auto accounts = AccountService::NewStub(web);
  const auto auth = AuthService::NewStub(web);
  const auto sign_in = [&](const Credential& credential) {
    SignInRequest request;
    *request.mutable_credential() = credential;
    request.set_idempotency_key(random_text());
    return call<SignInResponse>(*auth, &AuthService::Stub::SignIn, request);
  };
  const std::string person = random_text(), email = person + "@example.com";
  CreateRequest create;
  create.set_email(email);
  create.set_password(random_text());
  create.set_idempotency_key(random_text());
  const Account created = call<CreateResponse>(*accounts, &AccountService::Stub::Create, create).session().account();

  const std::string mint = "deploy/mint --issuer corp --subject " + person + " --email " + email;
  std::unique_ptr<FILE, int (*)(FILE*)> output(popen(mint.c_str(), "r"), pclose);
  char token[4096] = "";
  if (!fgets(token, sizeof token, output.get())) throw std::runtime_error("no token");
  Credential company;
  company.mutable_provider_token()->set_provider_id("oidc.corp");
  company.mutable_provider_token()->set_id_token(one_line(token));
  LinkRequest link;
  link.mutable_credential()->set_pending_token(sign_in(company).account_exists().pending_token());
  FetchProvidersRequest fetch;
  fetch.set_pending_token(link.credential().pending_token());
  const auto ways = call<FetchProvidersResponse>(*auth, &AuthService::Stub::FetchProviders, fetch);
  std::cout << "conflict: the account has";
  for (const auto& way : ways.sign_in_methods()) std::cout << " " << way;
  Credential known;
  known.mutable_password()->set_email(email);
  known.mutable_password()->set_password(create.password());
  link.set_id_token(sign_in(known).session().id_token());
  link.set_idempotency_key(random_text());
  Session linked = call<LinkResponse>(*auth, &AuthService::Stub::Link, link).session();
  const Account again = sign_in(company).session().account();
  if (again.account_id() != created.account_id()) throw std::runtime_error("another account");
  std::cout << "\nlinked:";
  for (const auto& each : again.providers()) std::cout << " " << each.provider_id();

  known.mutable_password()->set_email("not an address");
  try {
    sign_in(known);
  } catch (const std::runtime_error& error) {
    std::cout << "\nerror: " << error.what() << "\n";
  }

  linked.mutable_id_token_expires_at()->set_seconds(std::time(nullptr));  // As if it were about to expire.
  SessionHolder holder(linked, web);
  std::vector<std::future<std::string>> threads(8);
  for (auto& each : threads) each = std::async(std::launch::async, [&] { return holder.id_token(); });
  std::set<std::string> tokens;
  for (auto& each : threads) tokens.insert(each.get());
  std::cout << "refreshed: tokens of 8 threads: " << tokens.size() << "\n";

  watch(cursor, [&](const Event& event) {
    return event.type() == EVENT_TYPE_LINKED && event.account_id() == created.account_id();
  });
  std::cout << "events: LINKED after a new connection\n";
  return tokens.size() == 1 ? 0 : 1;
}
