import AddressIntelligence
import Endpoints
import Foundation
import Testing

/// A request as the listener would hand it over.
func request(
    method: String = "POST",
    fields: [(name: String, value: String)] = [],
    body: String = ""
) throws -> EndpointRequest {
    EndpointRequest(
        method: method,
        path: "/",
        query: [],
        fields: fields,
        body: Array(body.utf8),
        address: try #require(IPAddress("192.0.2.1")),
        origin: "https://app.example.com",
        authority: "app.example.com",
        isSecure: true,
        requestID: "r1"
    )
}

/// Corpora that others wrote, kept outside the package.
enum Testdata {
    private static let directory: URL = {
        if let named = ProcessInfo.processInfo.environment["TESTDATA_DIR"] { return URL(fileURLWithPath: named) }
        return URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("../shared/testdata").standardizedFileURL
    }()

    static let isCI = ProcessInfo.processInfo.environment["CI"] == "true"

    /// Whether tests over the corpora run: in CI always, so that a missing corpus fails them.
    static func runs(_ name: String) -> Bool {
        self.isCI || FileManager.default.fileExists(atPath: self.directory.appendingPathComponent(name).path)
    }

    static func bytes(_ name: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: self.directory.appendingPathComponent(name)))
    }
}
