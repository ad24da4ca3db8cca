#pragma once
#include "tls.h"
#include "crypto_shim.h"
