import Foundation
import GatewayBench
import Testing

/// The fronts of two regions that serve the same name, as the files for regions in `deploy/front` configure them.
final class RegionFronts {
    /// A region as its front knows it.
    struct Place {
        let name: String
        let gateway: Gateway
        /// For clients, and for the fronts of other regions.
        let ports: (public: Int, regions: Int)

        init(_ name: String, _ gateway: Gateway) throws {
            self.name = name
            self.gateway = gateway
            self.ports = (try ServerPorts.take(), try ServerPorts.take())
        }
    }

    private let front: Front
    private let places: [Place]
    private let marks: [String]
    private let program: String
    private let folder: URL
    private var running: [Servers.Running?] = [nil, nil]

    /// Starts both. Clients of the gateways connect to their fronts from then on.
    ///
    /// - Parameter marks: The two characters after the prefix of each region's tokens.
    init(_ front: Front, _ home: Gateway, _ away: Gateway, marks: [String]) throws {
        self.front = front
        self.program = try front.program
        self.places = [try Place("eu", home), try Place("us", away)]
        self.marks = marks
        self.folder = try Servers.folder()
        for index in 0..<2 { try self.start(index) }
    }

    /// Starts a front.
    ///
    /// - Parameter isOtherKnown: Whether the name of the other region's front has an address.
    func start(_ index: Int, isOtherKnown: Bool = true) throws {
        let (own, other) = (self.places[index], self.places[1 - index])
        let name = self.front == .haproxy ? "haproxy-regions.cfg" : "nginx-regions.conf"
        var text = try Self.file(name)
        if index == 1 { text.replace(/\b(eu|us)\b/) { $0.1 == "eu" ? "us" : "eu" } }
        for number in 1...2 {
            text = text.replacing(
                "gateway-\(number):8080 check port 9090",
                with: "127.0.0.1:\(own.gateway.port) check port \(own.gateway.adminPort)"
            )
            .replacing(" gateway-\(number):8080", with: " 127.0.0.1:\(own.gateway.port)")
        }
        let address = isOtherKnown ? "127.0.0.1" : "front.invalid"
        text = text.replacing(" \(other.name)-front:8081", with: " \(address):\(other.ports.regions)")
            .replacing("__Host-sallyport", with: "sallyport")
        let folder = self.folder.appending(path: own.name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let file = folder.appending(path: name)
        let arguments: [String]
        switch self.front {
        case .haproxy:
            let map = folder.appending(path: "regions.map")
            text = text.replacing("bind :8080", with: "bind 127.0.0.1:\(own.ports.public)")
                .replacing("bind :8081", with: "bind 127.0.0.1:\(own.ports.regions)")
                .replacing("/etc/haproxy/regions.map", with: map.path)
                .replacing("inter 1s", with: "inter 200ms")
            try self.marked(try Self.file("regions.map")).write(to: map, atomically: true, encoding: .utf8)
            arguments = ["-db", "-f", file.path]
        case .nginx:
            text = self.marked(text).replacing("listen 8080;", with: "listen 127.0.0.1:\(own.ports.public);")
                .replacing("listen 8081;", with: "listen 127.0.0.1:\(own.ports.regions);")
            text = Front.asUserOfTheTests(text)
            arguments = ["-p", folder.path, "-c", file.path, "-e", "stderr"]
        }
        for place in ["gateway-1:8080", "-front:8081", "bind :8080", "listen 8080"] where text.contains(place) {
            throw BenchFailure("\(name) has \(place) otherwise")
        }
        try text.write(to: file, atomically: true, encoding: .utf8)
        self.running[index] = try Servers.Running(self.program, arguments, in: folder, port: own.ports.public)
        own.gateway.front = own.ports.public
    }

    /// The lines of the ids with those of the gateways' secrets.
    private func marked(_ text: String) -> String {
        text.replacing(/(?m)^( *)(Dg|aG) (?:eu|us)(;?)$/) { line in
            let index = line.2 == "Dg" ? 0 : 1
            return "\(line.1)\(self.marks[index]) \(self.places[index].name)\(line.3)"
        }
    }

    /// Ends a front, as when its region is lost.
    func stop(_ index: Int) {
        self.running[index]?.stop()
        self.running[index] = nil
    }

    /// Ends both; clients connect to the gateways again.
    func stop() {
        for index in 0..<2 { self.stop(index) }
        for place in self.places { place.gateway.front = nil }
    }

    private static func file(_ name: String) throws -> String {
        try String(contentsOf: Gateway.root.appending(path: "deploy/front/\(name)"), encoding: .utf8)
    }
}
