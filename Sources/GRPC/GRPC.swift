// GRPC
