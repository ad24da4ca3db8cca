<?php
// Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run.
require getenv('COMPOSER_VENDOR_DIR') . '/autoload.php';

use Google\Rpc\ErrorInfo;
use Grpc\ChannelCredentials;
use Latchkey\V1 as LK;

function home(string $name): string
{
    return file_get_contents((getenv('LATCHKEY_HOME') ?: '.latchkey') . "/$name");
}

function client(string $class, bool $byCertificate = false): Grpc\BaseStub
{
    $key = trim(home('web.apikey'));
    return new $class(getenv('LATCHKEY_SERVER') ?: 'localhost:8443', [
        'grpc.service_config' => file_get_contents('proto/service-config.json'),
    ] + ($byCertificate
        ? ['credentials' => ChannelCredentials::createSsl(home('authority.pem'), home('admin.key'), home('admin.pem'))]
        : ['credentials' => ChannelCredentials::createSsl(home('authority.pem')),
           'update_metadata' => fn (array $metadata) => $metadata + ['authorization' => ["Bearer $key"]]]));
}

class LatchkeyException extends RuntimeException
{
    public ?ErrorInfo $info = null;

    public function __construct(stdClass $status)
    {
        parent::__construct($status->details, $status->code);
        GPBMetadata\Google\Rpc\ErrorDetails::initOnce();
        $rich = new Google\Rpc\Status();
        $rich->mergeFromString($status->metadata['grpc-status-details-bin'][0] ?? '');
        foreach ($rich->getDetails() as $detail) {
            if ($detail->is(ErrorInfo::class)) $this->info = $detail->unpack();
        }
    }
}

function result(Grpc\UnaryCall $call): object
{
    [$response, $status] = $call->wait();
    return $status->code === Grpc\STATUS_OK ? $response : throw new LatchkeyException($status);
}

function signIn(LK\AuthServiceClient $auth, array $kind): LK\SignInResponse
{
    return result($auth->SignIn(new LK\SignInRequest([
        'credential' => new LK\Credential($kind), 'idempotency_key' => bin2hex(random_bytes(16))])));
}

/** A new file's content: the idempotency key of the next refresh, then the session. */
function stored(LK\Session $session): string
{
    return bin2hex(random_bytes(16)) . $session->serializeToString();
}

/**
 * One user's session, in a file that the processes of PHP share. The lock lets one refresh run. A repeat after a lost
 * response needs the same key.
 */
function idToken(LK\SessionServiceClient $sessions, string $path): string
{
    $file = fopen($path, 'c+');
    flock($file, LOCK_EX); // Closing the file releases it.
    $key = fread($file, 32);
    $session = new LK\Session();
    $session->mergeFromString(stream_get_contents($file));
    if ($session->getIdTokenExpiresAt()->getSeconds() - time() < 300) {
        $session = result($sessions->Refresh(new LK\RefreshRequest([
            'refresh_token' => $session->getRefreshToken(), 'idempotency_key' => $key])))->getSession();
        ftruncate($file, 0);
        rewind($file);
        fwrite($file, stored($session));
    }
    fclose($file);
    return $session->getIdToken();
}

/** Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends. */
function watch(string $cursor, callable $wanted): string
{
    $events = client(LK\EventServiceClient::class, true);
    while (true) {
        $call = $events->Watch(new LK\WatchRequest(['cursor' => $cursor]));
        foreach ($call->responses() as $response) {
            $cursor = $response->getCursor(); // Store it here, after the event is processed.
            if ($wanted($response->getEvent())) {
                $call->cancel();
                return $cursor;
            }
        }
        if ($call->getStatus()->code !== Grpc\STATUS_UNAVAILABLE) throw new LatchkeyException($call->getStatus());
        sleep(1);
    }
}

$cursor = watch('now', fn () => true);
[$auth, $sessions] = [client(LK\AuthServiceClient::class), client(LK\SessionServiceClient::class)];
[$person, $password] = [bin2hex(random_bytes(8)), bin2hex(random_bytes(16))];
$email = "$person@example.com";
$created = result(client(LK\AccountServiceClient::class)->Create(new LK\CreateRequest([
    'email' => $email, 'password' => $password,
    'idempotency_key' => bin2hex(random_bytes(16))])))->getSession()->getAccount();
$company = ['provider_token' => new LK\ProviderTokenCredential(['provider_id' => 'oidc.corp',
    'id_token' => trim(shell_exec("deploy/mint --issuer corp --subject $person --email $email"))])];
$pending = signIn($auth, $company)->getAccountExists()->getPendingToken();
$ways = result($auth->FetchProviders(new LK\FetchProvidersRequest(['pending_token' => $pending])));
echo 'conflict: the account has ', implode(' ', iterator_to_array($ways->getSignInMethods())), "\n";
$known = ['password' => new LK\PasswordCredential(['email' => $email, 'password' => $password])];
$linked = result($auth->Link(new LK\LinkRequest(['id_token' => signIn($auth, $known)->getSession()->getIdToken(),
    'credential' => new LK\Credential(['pending_token' => $pending]),
    'idempotency_key' => bin2hex(random_bytes(16))])))->getSession();
$again = signIn($auth, $company)->getSession()->getAccount();
if ($again->getAccountId() !== $created->getAccountId()) throw new RuntimeException('another account');
echo 'linked: ', count($again->getProviders()), " sign-in methods\n";

try {
    signIn($auth, ['password' => new LK\PasswordCredential(['email' => 'not an address', 'password' => 'secret'])]);
} catch (LatchkeyException $error) {
    echo "error: {$error->info->getReason()} {$error->info->getMetadata()['field']}\n";
}

$linked->getIdTokenExpiresAt()->setSeconds(time()); // As if it were about to expire.
$path = tempnam(sys_get_temp_dir(), 'session');
file_put_contents($path, stored($linked));
if (idToken($sessions, $path) !== idToken($sessions, $path)) throw new RuntimeException('more than one refresh');
unlink($path);
echo "refreshed: once for 2 calls\n";

watch($cursor, fn (?LK\Event $event) => $event?->getType() === LK\EventType::EVENT_TYPE_LINKED
    && $event->getAccountId() === $created->getAccountId());
echo "events: LINKED after a new connection\n";
