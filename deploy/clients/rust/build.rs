fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files =
        ["account", "auth", "event", "session"].map(|name| format!("../../../proto/latchkey/v1/{name}_service.proto"));
    tonic_prost_build::configure().build_server(false).compile_protos(&files, &["../../../proto".to_string()])?;
    Ok(())
}
