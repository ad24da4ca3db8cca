// HookMessages: the messages and RPCs of proto/latchkey/hooks, as Swift types.
//
// Owns: the generated messages. deploy/gen writes the folder Generated, which is all code of this module.
// Does not own: their bytes (Protobuf), the questions (Hooks), the answers (HookServer).
// Read next: Generated/Hooks.swift, then Hooks/Conversion.swift.
