import Foundation
import Testing

/// The compose files beside `deploy/compose.yaml`: another proxy in front, and Ory Kratos behind the gateway.
@Suite struct ComposeVariantsTests {
    private typealias Mapping = [String: Any]

    private static let files = ["compose.yaml", "compose.haproxy.yaml", "compose.traefik.yaml", "compose.kratos.yaml"]

    private static func mapping(_ path: String) throws -> Mapping {
        try #require(try PackageFiles.yaml(PackageFiles.text(path)).first as? Mapping)
    }

    private static func services(_ name: String) throws -> [String: Mapping] {
        try #require(try self.mapping("deploy/\(name)")["services"] as? [String: Mapping])
    }

    @Test(
        "Every compose file is valid by the schema of the specification",
        .enabled(if: PackageFiles.hasSchemas, "no validator is installed")
    )
    func schema() throws {
        try PackageFiles.expectValid(Self.files.map { "deploy/\($0)" }, by: "compose-spec")
    }

    @Test("Every mounted file is in the repository, or made by the script for secrets", arguments: files.dropFirst())
    func mounts(_ name: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-compose-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        let made = try #require(try PackageFiles.run(["deploy/compose/secrets.sh", folder.path]))
        #expect(made.status == 0, "\(made.output)")
        let services = try Self.services(name).values
        let mounted = services.flatMap { $0["volumes"] as? [String] ?? [] }
        let secrets = try Self.mapping("deploy/\(name)")["secrets"] as? [String: Mapping] ?? [:]
        let paths =
            mounted.filter { $0.hasPrefix("./") }.compactMap { $0.split(separator: ":").first.map(String.init) }
            + services.flatMap { $0["env_file"] as? [String] ?? [] }
            + secrets.values.compactMap { $0["file"] as? String }
        #expect(!paths.isEmpty)
        for path in paths {
            let file = path.replacing("./compose/secrets", with: folder.path)
                .replacing("./", with: PackageFiles.root.appending(path: "deploy/").path + "/")
            #expect(FileManager.default.fileExists(atPath: file), "\(path)")
        }
    }

    @Test("Traefik asks the gateways as often as they need it, and keeps no connection that a drain would cut off")
    func traefik() throws {
        let front = try #require(try Self.services("compose.traefik.yaml")["front"])
        let flags = try #require(front["command"] as? [String])
        let file = try #require(flags.first { $0.hasPrefix("--providers.file.filename=") }?.split(separator: "=").last)
        #expect(front["volumes"] as? [String] == ["./front/traefik.yaml:\(file):ro"])
        #expect(flags.contains("--entryPoints.web.address=:8080"))
        let http = try #require(try Self.mapping("deploy/front/traefik.yaml")["http"] as? [String: Mapping])
        let router = try #require(http["routers"]?["gateways"] as? Mapping)
        #expect(router["entryPoints"] as? [String] == ["web"] && router["service"] as? String == "gateways")
        #expect(router["middlewares"] as? [String] == http["middlewares"].map { Array($0.keys) })
        let balancer = (http["services"]?["gateways"] as? Mapping)?["loadBalancer"] as? Mapping
        let servers = try #require(balancer?["servers"] as? [[String: String]])
        let gateways = try Self.services("compose.yaml").keys.filter { $0.hasPrefix("gateway-") }.sorted()
        #expect(servers.map { $0["url"] } == gateways.map { "http://\($0):8080" })
        let check = try #require(balancer?["healthCheck"] as? Mapping)
        #expect(check["path"] as? String == "/readyz" && check["port"] as? Int == 9090)
        #expect(check["interval"] as? String == "1s")
        let transport = http["serversTransports"]?["gateways"] as? Mapping
        let timeouts = try #require(transport?["forwardingTimeouts"] as? [String: String])
        let reference = try PackageFiles.text("Config/sallyport.reference.yaml")
        let delay = try #require(reference.firstMatch(of: /\ndrain:(?s).*?  delay: (\d+)s/).flatMap { Int($0.1) })
        let idle = try #require(timeouts["idleConnTimeout"].flatMap { Int($0.dropLast()) })
        #expect(idle < delay)
    }

    @Test("Kratos, its pages and the gateway know one another by the names that browsers see")
    func kratos() throws {
        let services = try Self.services("compose.kratos.yaml")
        let settings = try Self.mapping("deploy/compose/kratos/sallyport.yaml")
        let kratos = try PackageFiles.text("deploy/compose/kratos/kratos.yaml")
        let url = try #require(settings["public_url"] as? String)
        // Every URL of Kratos's file is the gateway's, but that of the schema.
        let urls = kratos.matches(of: /https?:\/\/[^\s,}\]]+/).map { String($0.0) }
        #expect(urls.count > 6 && urls.allSatisfy { $0.hasPrefix("\(url)/") })
        #expect(kratos.contains("base_url: \(url)/\n") && kratos.contains("file:///etc/kratos/identity.schema.json"))
        let interface = try #require(services["kratos-ui"]?["environment"] as? [String: String])
        let path = try #require(interface["BASE_PATH"])
        #expect(interface["KRATOS_BROWSER_URL"] == "\(url)/")
        #expect(kratos.matches(of: /ui_url: \S+8080(\/\w+)\//).allSatisfy { String($0.1) == path })
        let routes = try #require(settings["routes"] as? [[String: String]])
        let pages = try #require(routes.first { $0["path"] == "\(path)/**" })
        #expect(pages["auth"] == "public" && pages["upstream"] == "http://kratos-ui:\(interface["PORT"] ?? "")")
        let provider = (settings["provider"] as? Mapping)?["kratos"] as? Mapping
        #expect(provider?["public_url"] as? String == "http://kratos:4433")
        #expect(interface["KRATOS_PUBLIC_URL"] == "http://kratos:4433/")
        // Only the gateway has a port on the machine.
        #expect(services.filter { $0.value["ports"] != nil }.map(\.key) == ["gateway"])
    }

    @Test("The binary takes the settings, variables and flags for Kratos, and drains within its patience")
    func settings() throws {
        let gateway = try #require(try Self.services("compose.kratos.yaml")["gateway"])
        let folder = FileManager.default.temporaryDirectory.appending(path: "sallyport-compose-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        _ = try PackageFiles.run(["deploy/compose/secrets.sh", folder.path])
        let variables = try #require(gateway["environment"] as? [String: String]).map { name, value in
            let path = value.replacing("/run/secrets", with: folder.path)
                .replacing("/etc/sallyport", with: PackageFiles.root.appending(path: "deploy/compose/kratos").path)
            return "\(name)=\(path)"
        }
        let command = try #require(gateway["command"] as? [String])
        #expect(command.first == "run")
        let arguments = [".build/release/sallyport", "check", "--quiet"] + command.dropFirst()
        let checked = try #require(try PackageFiles.run(["/usr/bin/env", "-i"] + variables + arguments))
        #expect(checked.status == 0 && checked.output.hasPrefix("valid\n"), "\(checked.output)")
        let patience = try #require(gateway["stop_grace_period"] as? String)
        let seconds = try #require(Int(patience.prefix { $0 != "s" }))
        #expect(try PackageFiles.drain() < seconds)
    }
}
