#pragma once
// Removes the declarations of deprecated functions, so that no code can call them.
#define OPENSSL_NO_DEPRECATED
#include "tls.h"
#include "tickets.h"
#include "certificates.h"
#include "client.h"
#include "crypto_shim.h"
#include "derivation.h"
#include "authenticators.h"
