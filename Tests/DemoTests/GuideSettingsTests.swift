import Foundation
import GatewayBench
import TestSupport
import Testing

/// The settings in the documents start as they are written.
@Suite struct GuideSettingsTests {
    /// The keys at the top of the settings file.
    private static func keys() throws -> Set<String> {
        let file = Gateway.root.appending(path: "Config/sallyport.schema.json")
        let schema = try JSONSerialization.jsonObject(with: Data(contentsOf: file)) as? [String: Any]
        return Set(try #require(schema?["properties"] as? [String: Any]).keys)
    }

    private static func top(of block: String) -> Set<String> {
        Set(block.matches(of: /(?m)^(\w+):/).map { String($0.1) })
    }

    private static let openID =
        "oidc: {issuer: https://id.example.com, client_id: sallyport, client_secret_file: client-secret}"
    private static let hash = "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:lHHYXaLrymOQDFxvQUuvdIYNDh7G2grhLeb5SKqkknk"
    private static let passwords = "static: {users: [{identifier: ada, password_hash: \"\(hash)\"}]}"

    /// The part of a file with the lines without which no file is whole, for users of this provider.
    private static func whole(_ part: String, _ provider: String) -> String {
        let top = self.top(of: part)
        var text = part
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

    /// What `check` says of the text as a settings file, whose other files are not there.
    private static func check(
        _ text: String,
        _ flags: [String],
        in folder: URL
    ) throws -> (status: Int32, output: String) {
        let file = folder.appending(path: "sallyport.yaml")
        try Data(text.utf8).write(to: file)
        let arguments = ["check", "--config", file.path, "--quiet", "--without-files"] + flags
        return try Servers.run(Gateway.binary.path, arguments)
    }

    /// The blocks that are settings, with the document that has them.
    private static func settings() throws -> [(document: Document, block: Document.Block)] {
        let keys = try self.keys()
        return try (Documents.all() + Documents.others()).flatMap { document in
            document.blocks.filter { block in
                let top = self.top(of: block.text)
                return block.language == "yaml" && !top.isEmpty && top.isSubset(of: keys)
            }.map { (document, $0) }
        }
    }

    @Test("A block of YAML is a whole file of settings, or its first line says of which file it is, or a part")
    func everyBlockNamesItsFile() throws {
        let settings = Set(try Self.settings().map(\.block.text))
        for document in try Documents.all() + Documents.others() {
            for block in document.blocks where block.language == "yaml" {
                let namesItsFile = block.text.firstMatch(of: /^# [^\n]*\b\w+\.ya?ml\b/) != nil
                #expect(settings.contains(block.text) || namesItsFile, "\(document): \(block.text)")
            }
        }
    }

    @Test("check accepts every whole example as it is written, with the flags alone that its document names")
    func everyWholeExampleIsAccepted() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let whole = try Self.settings().filter { !$0.block.isPart }
        #expect(whole.count > 14)
        for (document, block) in whole {
            let flags = ["--insecure-static-users", "--insecure-http", "--insecure-unnamed-proxy"]
            let checked = try Self.check(block.text, flags.filter(document.text.contains), in: folder)
            #expect(checked.status == 0, "\(document): \(checked.output)\n\(block.text)")
        }
    }

    @Test("A part of a file is accepted with the lines that every file has beside it")
    func everyPartIsAccepted() throws {
        let folder = try Servers.folder()
        defer { try? FileManager.default.removeItem(at: folder) }
        let parts = try Self.settings().filter(\.block.isPart)
        #expect(parts.count > 40)
        let flags = ["--insecure-http", "--insecure-static-users", "--insecure-unnamed-proxy"]
        for (document, block) in parts {
            var output = ""
            let isAccepted = try [Self.openID, Self.passwords].contains { provider in
                let checked = try Self.check(Self.whole(block.text, provider), flags, in: folder)
                if output.isEmpty { output = checked.output }
                return checked.status == 0
            }
            #expect(isAccepted, "\(document): \(output)\n\(block.text)")
        }
    }
}
