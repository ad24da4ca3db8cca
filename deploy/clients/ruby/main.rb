# Walks through an account-exists conflict, an error, a refresh and the events, next to `deploy/run`.

require 'google/protobuf/well_known_types'
require 'google/rpc/error_details_pb'
require 'latchkey/v1/account_service_services_pb'
require 'latchkey/v1/auth_service_services_pb'
require 'latchkey/v1/event_service_services_pb'
require 'latchkey/v1/session_service_services_pb'
require 'open3'
require 'securerandom'

include Latchkey::V1

SERVER = ENV.fetch('LATCHKEY_SERVER', 'localhost:8443')
HOME = ENV.fetch('LATCHKEY_HOME', '.latchkey')
CONFIG = { 'grpc.service_config' => File.read('proto/service-config.json') }.freeze

def read(name) = File.read("#{HOME}/#{name}")

# By API key. The stubs of one process share a connection.
def web(stub)
  bearer = GRPC::Core::CallCredentials.new(proc { { authorization: "Bearer #{read('web.apikey').strip}" } })
  stub.new(SERVER, GRPC::Core::ChannelCredentials.new(read('authority.pem')).compose(bearer), channel_args: CONFIG)
end

def error_info(error)
  detail = error.to_rpc_status&.details&.find { |each| each.is(Google::Rpc::ErrorInfo) }
  detail&.unpack(Google::Rpc::ErrorInfo)
end

# One user's session. One refresh runs at a time.
class SessionHolder
  MARGIN_SECONDS = 300

  def initialize(session)
    @sessions, @lock = web(SessionService::Stub), Mutex.new
    take(session)
  end

  def id_token
    @lock.synchronize do
      if @session.id_token_expires_at.seconds - Time.now.to_i < MARGIN_SECONDS
        take(@sessions.refresh(RefreshRequest.new(
          refresh_token: @session.refresh_token, idempotency_key: @key)).session)
      end
      @session.id_token
    end
  end

  private

  # The key is that of the next refresh. A repeat after a lost response needs the same key.
  def take(session)
    @session, @key = session, SecureRandom.hex(16) # Store both here.
  end
end

# Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends.
def watch(cursor)
  admin = GRPC::Core::ChannelCredentials.new(read('authority.pem'), read('admin.key'), read('admin.pem'))
  events = EventService::Stub.new(SERVER, admin, channel_args: CONFIG)
  loop do
    events.watch(WatchRequest.new(cursor: cursor)).each do |response|
      cursor = response.cursor # Store it here, after the event is processed.
      return cursor if yield response.event
    end
  rescue GRPC::Unavailable
    sleep 1
  end
end

cursor = watch('now') { true }
accounts, auth = web(AccountService::Stub), web(AuthService::Stub)
person, password = SecureRandom.hex(4), SecureRandom.hex(12)
email = "#{person}@example.com"
created = accounts.create(CreateRequest.new(
  email: email, password: password, idempotency_key: SecureRandom.hex(16))).session.account

sign_in = lambda do |**kind|
  auth.sign_in(SignInRequest.new(credential: Credential.new(**kind), idempotency_key: SecureRandom.hex(16)))
end
id_token, = Open3.capture2('deploy/mint', '--issuer', 'corp', '--subject', person, '--email', email)
company = { provider_token: ProviderTokenCredential.new(provider_id: 'oidc.corp', id_token: id_token.strip) }
pending = sign_in.(**company).account_exists.pending_token
ways = auth.fetch_providers(FetchProvidersRequest.new(pending_token: pending))
puts "conflict: the account has #{ways.sign_in_methods.to_a.join(' ')}"
known = sign_in.(password: PasswordCredential.new(email: email, password: password)).session
linked = auth.link(LinkRequest.new(
  id_token: known.id_token, credential: Credential.new(pending_token: pending),
  idempotency_key: SecureRandom.hex(16))).session
again = sign_in.(**company).session.account
raise 'another account' unless again.account_id == created.account_id
puts "linked: #{again.providers.map(&:provider_id).join(' ')}"

begin
  sign_in.(password: PasswordCredential.new(email: 'not an address', password: 'secret'))
rescue GRPC::BadStatus => error
  info = error_info(error)
  puts "error: #{info.reason} #{info.metadata['field']}"
end

linked.id_token_expires_at = Google::Protobuf::Timestamp.new(seconds: Time.now.to_i) # As if it were about to expire.
holder = SessionHolder.new(linked)
tokens = Array.new(8) { Thread.new { holder.id_token } }.map(&:value).uniq
raise 'more than one refresh' unless tokens.size == 1 && tokens.first != linked.id_token
puts 'refreshed: once for 8 threads'

watch(cursor) { |event| event && event.type == :EVENT_TYPE_LINKED && event.account_id == created.account_id }
puts 'events: LINKED after a new call'
