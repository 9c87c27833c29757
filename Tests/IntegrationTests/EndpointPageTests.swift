import Foundation
import GatewayBench
import TestSupport
import Testing

/// The guide on endpoints names the paths and methods of the running gateway, and no others.
@Suite("The guide on endpoints", .blocking) struct EndpointPageTests {
    /// The methods by path in the tables of a section.
    private static func told(_ section: String) throws -> [String: Set<String>] {
        let guide = try Documents.guide("Endpoints")
        var told: [String: Set<String>] = [:]
        for line in try #require(guide.section(section)).text.split(separator: "\n") where line.hasPrefix("| `/") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            for path in cells[0].split(separator: "`") where path.hasPrefix("/") {
                #expect(told[String(path)] == nil, "\(path) is there twice")
                told[String(path)] = Self.methods(cells[1])
            }
        }
        return told
    }

    private static func methods(_ list: some StringProtocol) -> Set<String> {
        Set(list.split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
    }

    private static let common = """
        listen: 127.0.0.1:0
        event_loops: 1
        drain: {delay: 0s, timeout: 100ms}

        """

    private static let passwords = """
        admin: {listen: 127.0.0.1:0}
        public_url: \(Request.origin)
        upstream: http://127.0.0.1:1
        provider: {static: {users: [{identifier: ada, password_hash: "\(hash)"}]}}

        """
    private static let hash = "scrypt:1024:8:1:MDEyMzQ1Njc4OWFiY2RlZg:lHHYXaLrymOQDFxvQUuvdIYNDh7G2grhLeb5SKqkknk"

    /// With all that adds paths.
    private static let provider = """
        admin: {listen: 127.0.0.1:0, tokens_file: tokens}
        trusted_proxies: [127.0.0.1]
        authorization: {listen: 127.0.0.1:0, peers: [127.0.0.1]}
        compat: {oauth2_proxy: true}
        pages: {change_password_url: "https://id.example.com/password"}
        handoff: {share: true}
        hosts:
          - {public_url: "\(Request.origin)", endpoints: true, well_known: true, upstream: "http://127.0.0.1:1"}
          - {public_url: "http://shop.example.com", upstream: "http://127.0.0.1:1"}
        clients: [{client_id: web, session_transfer: {allowed_authentication_methods: [cookie]}}]
        provider: {oidc: {issuer: "https://127.0.0.1:1", client_id: gateway, client_secret_file: client}}

        """

    private static let kratos = """
        admin: {listen: 127.0.0.1:0}
        public_url: \(Request.origin)
        upstream: http://127.0.0.1:1
        provider: {kratos: {public_url: "http://127.0.0.1:1"}}

        """

    private static let files = ["tokens": OperatorTokens.file, "client": "a secret of the client"]

    /// The paths that `sallyport check` prints for the settings of a gateway.
    private static func paths(of gateway: Gateway) throws -> [String] {
        let file = gateway.folder.appending(path: "settings.yaml").path
        let checked = try Servers.run(
            Gateway.binary.path,
            ["check", "--config", file, "--insecure-http", "--insecure-unnamed-proxy"]
        )
        try #require(checked.status == 0, "\(checked.output)")
        return checked.output.components(separatedBy: " that the gateway answers itself:\n").dropFirst().flatMap {
            list in
            list.split(separator: "\n", omittingEmptySubsequences: false).prefix { !$0.isEmpty }
                .map { $0.trimmingCharacters(in: .whitespaces) }
                // The last line says what takes them.
                .filter { $0.hasPrefix("/") }
        }
    }

    @Test("Every path is there with its methods, by what the gateway says of a method that no path has")
    func paths() throws {
        var served: [String: Set<String>] = [:]
        for settings in [Self.passwords, Self.provider] {
            try Gateway.with(Self.common + settings, files: Self.files) { gateway in
                for path in Set(try Self.paths(of: gateway)) {
                    let answer = try gateway.request(Request.get(path.replacing("{id}", with: "x"), method: "BREW"))
                    let allowed = try #require(answer.value("allow"), "\(path): \(answer.lines)")
                    // Below this folder are the pages that are there on their own.
                    let isBelow = path.hasPrefix("/oauth2/.sallyport/")
                    served[isBelow ? String(path.dropFirst("/oauth2".count)) : path, default: []]
                        .formUnion(Self.methods(allowed).subtracting(["OPTIONS"]))
                }
            }
        }
        let told = try Self.told("## On every host").merging(Self.told("## On hosts with endpoints")) { $0.union($1) }
        #expect(told.count > 40)
        for path in Set(told.keys).union(served.keys) { #expect(told[path] == served[path], "\(path)") }
    }

    @Test("So are the paths of Kratos's")
    func kratos() throws {
        let page = try Documents.text("Endpoints")
        try Gateway.with(Self.common + Self.kratos) { gateway in
            for path in try Self.paths(of: gateway) { #expect(page.contains("`\(path)`"), "\(path)") }
        }
    }

    @Test("The operators' paths are those of the admin listener's index")
    func operators() throws {
        try Gateway.with(Self.common + Self.provider, files: Self.files) { gateway in
            let lines = try gateway.admin("/").text.matches(of: /(?m)^([A-Z]+(?:, *[A-Z]+)*) +(\/[^\s\[?]+)/)
            let served = lines.reduce(into: [String: Set<String>]()) { served, line in
                served[String(line.2), default: []].formUnion(Self.methods(line.1))
            }
            let told = try Self.told("## On other listeners")
            #expect(served.count > 8)
            for path in Set(told.keys).union(served.keys) { #expect(told[path] == served[path], "\(path)") }
        }
    }
}
