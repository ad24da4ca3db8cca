// Walks through an account-exists conflict, an error, a refresh and the events, next to deploy/run.
const assert = require('node:assert')
const { execFileSync } = require('node:child_process')
const { randomUUID } = require('node:crypto')
const { readFileSync } = require('node:fs')
const { setTimeout } = require('node:timers/promises')
const { promisify } = require('node:util')
const grpc = require('@grpc/grpc-js')
const loader = require('@grpc/proto-loader')
const protobuf = require('protobufjs')

const server = process.env.LATCHKEY_SERVER ?? 'localhost:8443'
const home = (name) => readFileSync(`${process.env.LATCHKEY_HOME ?? '.latchkey'}/${name}`)
const options = { 'grpc.service_config': readFileSync('proto/service-config.json', 'utf8') }
const files = ['auth', 'account', 'session', 'event'].map((name) => `latchkey/v1/${name}_service.proto`)
const { v1 } = grpc.loadPackageDefinition(loader.loadSync(files, {
  includeDirs: ['proto'], keepCase: true, longs: String, enums: String, oneofs: true,
})).latchkey

const bearer = grpc.credentials.createFromMetadataGenerator((_, callback) => {
  const metadata = new grpc.Metadata()
  metadata.set('authorization', `Bearer ${home('web.apikey').toString().trim()}`)
  callback(null, metadata)
})
const web = grpc.credentials.combineChannelCredentials(grpc.credentials.createSsl(home('authority.pem')), bearer)
const clients = Object.fromEntries(['AccountService', 'AuthService', 'SessionService'].map(
  (name) => [name, new v1[name](server, web, options)]))
const call = (service, method, request) => promisify(clients[service][method]).call(clients[service], request)
const signIn = (credential) => call('AuthService', 'SignIn', { credential, idempotency_key: randomUUID() })

const root = new protobuf.Root()
root.resolvePath = (_, target) => (target.startsWith('google/protobuf/') ? target : `proto/${target}`)
root.loadSync(['google/rpc/status.proto', 'google/rpc/error_details.proto'])
const [Status, ErrorInfo] = ['Status', 'ErrorInfo'].map((name) => root.lookupType(`google.rpc.${name}`))

function errorInfo (error) {
  const [bytes] = error.metadata.get('grpc-status-details-bin')
  const detail = bytes && Status.decode(bytes).details.find((each) => each.type_url.endsWith('/google.rpc.ErrorInfo'))
  return detail ? ErrorInfo.toObject(ErrorInfo.decode(detail.value)) : null
}

// One user's session. All callers wait for the one refresh that runs.
class SessionHolder {
  constructor (session) { this.take(session) }

  // The key is that of the next refresh. A repeat after a lost response needs the same key. Store both here.
  take (session) { Object.assign(this, { session, key: randomUUID() }) }

  async idToken () {
    if (this.session.id_token_expires_at.seconds - Date.now() / 1000 < 300) {
      this.refreshing ??= this.refresh().finally(() => { this.refreshing = null })
      await this.refreshing
    }
    return this.session.id_token
  }

  async refresh () {
    const request = { refresh_token: this.session.refresh_token, idempotency_key: this.key }
    this.take((await call('SessionService', 'Refresh', request)).session)
  }
}

// Returns the cursor of the wanted event. Calls again with the last cursor when the connection ends.
async function watch (cursor, wanted) {
  const admin = grpc.credentials.createSsl(home('authority.pem'), home('admin.key'), home('admin.pem'))
  const client = new v1.EventService(server, admin, options)
  while (true) {
    const stream = client.Watch({ cursor })
    try {
      for await (const response of stream) {
        cursor = response.cursor // Store it here, after the event is processed.
        if (wanted(response.event)) {
          stream.on('error', () => {}).cancel()
          client.close()
          return cursor
        }
      }
    } catch (error) {
      if (error.code !== grpc.status.UNAVAILABLE) throw error
    }
    await setTimeout(1000)
  }
}

async function main () {
  const cursor = await watch('now', () => true)
  const [person, password] = [randomUUID(), randomUUID()]
  const email = `${person}@example.com`
  const created = await call('AccountService', 'Create', { email, password, idempotency_key: randomUUID() })
  const mint = ['--issuer', 'corp', '--subject', person, '--email', email]
  const idToken = execFileSync('deploy/mint', mint, { encoding: 'utf8' }).trim()
  const company = { provider_token: { provider_id: 'oidc.corp', id_token: idToken } }
  const { pending_token } = (await signIn(company)).account_exists
  const ways = await call('AuthService', 'FetchProviders', { pending_token })
  console.log('conflict: the account has', ...ways.sign_in_methods)
  const { id_token } = (await signIn({ password: { email, password } })).session
  const request = { id_token, credential: { pending_token }, idempotency_key: randomUUID() }
  const linked = (await call('AuthService', 'Link', request)).session
  const { account } = (await signIn(company)).session
  assert.equal(account.account_id, created.session.account.account_id)
  console.log('linked:', ...account.providers.map((each) => each.provider_id))

  const info = await signIn({ password: { email: 'not an address', password: 'secret' } }).catch(errorInfo)
  console.log('error:', info.reason, info.metadata.field)

  linked.id_token_expires_at.seconds = Math.floor(Date.now() / 1000) // As if it were about to expire.
  const holder = new SessionHolder(linked)
  assert.equal(new Set(await Promise.all(Array.from({ length: 8 }, () => holder.idToken()))).size, 1)
  console.log('refreshed: once for 8 callers')

  await watch(cursor, (event) => event?.type === 'EVENT_TYPE_LINKED' && event.account_id === account.account_id)
  console.log('events: LINKED after a new connection')
  Object.values(clients).forEach((client) => client.close())
}

main()
