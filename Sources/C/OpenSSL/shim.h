#pragma once
#include "tls.h"
#include "tickets.h"
#include "certificates.h"
#include "crypto_shim.h"
