import GatewayBench

extension Gateway {
    /// Runs `body` with a gateway in front of an app that answers every request; both are stopped afterwards.
    ///
    /// - Parameter settings: Makes the settings from the app's port.
    static func withApp(
        _ settings: (Int) -> String,
        files: [String: String] = [:],
        _ body: (Gateway, FakeUpstream) throws -> Void
    ) throws {
        let app = try FakeUpstream()
        defer { app.stop() }
        try Gateway.with(settings(app.port), files: files) { try body($0, app) }
    }

    /// The same with the usual settings.
    static func withApp(_ body: (Gateway, FakeUpstream) throws -> Void) throws {
        try self.withApp({ Config.file(upstream: $0) }, body)
    }
}
