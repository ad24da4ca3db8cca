// libfido2 and the CBOR library that it uses.
#pragma once
#include <cbor.h>
#include <fido.h>
#include <stdint.h>
