// Sealed: what the store keeps sealed, as messages of latchkey.storage.v1.
//
// Owns: the generated messages. deploy/gen writes the folder Generated, which is all code of this module.
// Does not own: their bytes (Protobuf), the seal (Crypto), the values that they stand for (Identity).
// Read next: Generated/Sealed.swift, then Identity/Pending/SealedContent.swift.
