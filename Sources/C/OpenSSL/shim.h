#pragma once
// What OpenSSL deprecates is not declared, so that it cannot be called.
#define OPENSSL_NO_DEPRECATED
#include "tls.h"
#include "tickets.h"
#include "certificates.h"
#include "client.h"
#include "crypto_shim.h"
#include "derivation.h"
