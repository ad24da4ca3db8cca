#pragma once
#include "tls.h"
#include "tickets.h"
#include "certificates.h"
#include "client.h"
#include "crypto_shim.h"
#include "derivation.h"
#include "direct.h"
