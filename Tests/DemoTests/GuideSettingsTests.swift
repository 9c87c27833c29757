import Foundation
import GatewayBench
import TestSupport
import Testing

/// The settings in the guides start as they are written.
@Suite struct GuideSettingsTests {
    /// The keys at the top of the settings file.
    private static func keys() throws -> Set<String> {
        let file = Gateway.root.appending(path: "Config/sallyport.schema.json")
        let schema = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        return Set(try #require(schema?["properties"] as? [String: Any]).keys)
    }

    private static let openID =
        "oidc: {issuer: https://id.example.com, client_id: sallyport, client_secret_file: client-secret}"
    private static let hash = "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:lHHYXaLrymOQDFxvQUuvdIYNDh7G2grhLeb5SKqkknk"
    private static let passwords = "static: {users: [{identifier: ada, password_hash: \"\(hash)\"}]}"

    /// The block with the lines without which no file is whole, for users of this provider.
    private static func whole(_ block: String, _ top: Set<String>, _ provider: String) -> String {
        var text = block
        func add(_ key: String, _ value: String, unless others: Set<String> = []) {
            if top.isDisjoint(with: others.union([key])) { text += "\(key): \(value)\n" }
        }
        add("public_url", "https://app.example.com", unless: ["hosts"])
        add("upstream", "http://127.0.0.1:3000")
        add("trusted_proxies", "[10.9.9.9]", unless: ["tls"])
        add("geo", "{database: places.mmdb}")
        add("asn", "{database: networks.mmdb}")
        add("secret_file", "secret")
        add("provider", "{\(provider)}", unless: ["providers"])
        return text
    }

    /// Shows what changes in the block before it.
    private static func isPart(_ block: String, of guide: Document) -> Bool {
        guide.name == "SeveralProviders" && block.contains("sign_in: identifier_first      #")
    }

    @Test func everyBlockOfSettingsIsAccepted() throws {
        let keys = try Self.keys()
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appending(path: "sallyport.yaml")
        let flags = ["--quiet", "--without-files", "--insecure-http", "--insecure-static-users"]
        var accepted = 0
        for guide in try Documents.guides() {
            for block in guide.blocks("yaml") where !Self.isPart(block, of: guide) {
                let top = Set(block.matches(of: /(?m)^(\w+):/).map { String($0.1) })
                guard !top.isEmpty, top.isSubset(of: keys) else { continue }
                var output = ""
                let isAccepted = try [Self.openID, Self.passwords].contains { provider in
                    try Data(Self.whole(block, top, provider).utf8).write(to: file)
                    let arguments = ["check", "--config", file.path, "--insecure-unnamed-proxy"] + flags
                    let checked = try Servers.run(Gateway.binary.path, arguments)
                    if output.isEmpty { output = checked.output }
                    return checked.status == 0
                }
                #expect(isAccepted, "\(guide): \(output)\n\(block)")
                accepted += 1
            }
        }
        #expect(accepted > 40)
    }
}
