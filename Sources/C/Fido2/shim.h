// libfido2, and libcbor, by which libfido2 reads the same bytes.
//
// libfido2 1.12 takes the three parts of an attestation object separately, compares extension outputs with the
// expected ones, and passes on only the first certificate. These files read that with libcbor.
#pragma once
#include "cbor_items.h"
#include "authenticator_data.h"
#include "attestation.h"
#include "assertion.h"
