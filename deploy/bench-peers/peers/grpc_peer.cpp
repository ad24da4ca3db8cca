// The peer that Latchkey is compared with: the gRPC C++ library serves the same two methods, with the same certificate,
// from memory, on one completion queue and one thread, which is its fastest configuration on one core.
#include <grpcpp/grpcpp.h>

#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

#include "grpc/health/v1/health.grpc.pb.h"
#include "latchkey/v1/auth_service.grpc.pb.h"

namespace {

using grpc::health::v1::Health;
using grpc::health::v1::HealthCheckRequest;
using grpc::health::v1::HealthCheckResponse;
using latchkey::v1::AuthService;
using latchkey::v1::FetchProvidersRequest;
using latchkey::v1::FetchProvidersResponse;

using Methods = std::vector<std::string>;

std::string read(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) throw std::runtime_error(path + " cannot be read");
  return text.str();
}

// One call from its arrival to its end. At its end, the server accepts another call.
class Turn {
 public:
  virtual ~Turn() = default;
  virtual void next(bool ok) = 0;
};

template <typename Request, typename Response>
class Unary final : public Turn {
 public:
  using Writer = grpc::ServerAsyncResponseWriter<Response>;
  using Expect = std::function<void(grpc::ServerContext*, Request*, Writer*, void*)>;
  using Answer = std::function<grpc::Status(const Request&, Response*)>;

  Unary(const Expect& expect, const Answer& answer) : expect_(expect), answer_(answer), writer_(&context_) {
    expect_(&context_, &request_, &writer_, this);
  }

  void next(bool ok) override {
    if (answered_ || !ok) {
      delete this;
      return;
    }
    new Unary(expect_, answer_);
    answered_ = true;
    Response response;
    const grpc::Status status = answer_(request_, &response);
    writer_.Finish(response, status, this);
  }

 private:
  const Expect& expect_;
  const Answer& answer_;
  grpc::ServerContext context_;
  Request request_;
  Writer writer_;
  bool answered_ = false;
};

int serve(const std::string& folder, const std::string& port, long accounts) {
  std::unordered_map<std::string, Methods> table;
  table.reserve(accounts);
  for (long number = 0; number < accounts; number++) {
    table.emplace("person" + std::to_string(number) + "@example.com", Methods{"password", "google.com"});
  }
  grpc::SslServerCredentialsOptions credentials;
  credentials.pem_key_cert_pairs.push_back({read(folder + "/server.key"), read(folder + "/server.pem")});
  Health::AsyncService health;
  AuthService::AsyncService auth;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + port, grpc::SslServerCredentials(credentials));
  builder.RegisterService(&health);
  builder.RegisterService(&auth);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (!server) return 1;

  using Check = Unary<HealthCheckRequest, HealthCheckResponse>;
  const Check::Expect expectCheck = [&](auto* context, auto* request, auto* writer, void* tag) {
    health.RequestCheck(context, request, writer, queue.get(), queue.get(), tag);
  };
  const Check::Answer answerCheck = [](const auto& request, auto* response) {
    if (!request.service().empty()) return grpc::Status(grpc::StatusCode::NOT_FOUND, "unknown service");
    response->set_status(HealthCheckResponse::SERVING);
    return grpc::Status::OK;
  };
  using Fetch = Unary<FetchProvidersRequest, FetchProvidersResponse>;
  const Fetch::Expect expectFetch = [&](auto* context, auto* request, auto* writer, void* tag) {
    auth.RequestFetchProviders(context, request, writer, queue.get(), queue.get(), tag);
  };
  const Fetch::Answer answerFetch = [&](const auto& request, auto* response) {
    const auto found = table.find(request.email());
    if (found == table.end()) return grpc::Status::OK;
    response->set_registered(true);
    for (const auto& method : found->second) {
      response->add_provider_ids(method);
      response->add_sign_in_methods(method);
    }
    return grpc::Status::OK;
  };
  // Up to as many calls may arrive at the same time as the client has in flight.
  for (int place = 0; place < 256; place++) {
    new Check(expectCheck, answerCheck);
    new Fetch(expectFetch, answerFetch);
  }
  std::cout << "listening" << std::endl;
  void* tag;
  bool ok;
  while (queue->Next(&tag, &ok)) static_cast<Turn*>(tag)->next(ok);
  return 0;
}

}  // namespace

int main(int count, char** words) {
  const std::vector<std::string> given(words + 1, words + count);
  if (given.size() == 3) return serve(given[0], given[1], std::stol(given[2]));
  std::cerr << "usage: grpc_peer FOLDER PORT ACCOUNTS" << std::endl;
  return 2;
}
