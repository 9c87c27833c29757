import Endpoints
import NIOCore
import RequestPath
import Settings
import Synchronization
import Vocabulary

/// The servers of all apps as this gateway sees them now, for `sallyport upstreams`.
extension Gateway {
    func upstreamsEndpoint() -> Endpoint {
        Endpoint(path: "/upstreams", methods: ["GET", "HEAD"], scope: .everyHost) { _ in
            .json(200, ["upstreams": .array(await self.upstreams())])
        }
    }

    private func upstreams() async -> [JSONValue] {
        let collected = Mutex<[ServerReport]>([])
        await self.loops.onEach { loop in
            let reports = loop.serverReports
            collected.withLock { $0 += reports }
        }
        let reports = collected.withLock { $0 }
        return self.state.withLock { $0.assembly }.configuration.targets.map { target in
            let app = target.settings
            let servers = zip(app.servers, target.servers).map { server, shared in
                Self.document(
                    server,
                    shared.nameState,
                    reports.filter { $0.upstream == app.name && $0.server == server.origin }
                )
            }
            return [
                "name": .string(app.name), "balance": .string(app.balance.rawValue), "servers": .array(servers),
            ]
        }
    }

    /// - Parameters:
    ///   - name: What is known of its name; nil: it has none.
    ///   - reports: One of each event loop.
    private static func document(
        _ server: ServerSettings,
        _ name: NameState?,
        _ reports: [ServerReport]
    ) -> JSONValue {
        let out = reports.count(where: \.isOut)
        let state = out == 0 ? "serving" : out == reports.count ? "out" : "partly out"
        func sum(_ count: (ServerReport) -> Int) -> JSONValue { .integer(Int64(reports.reduce(0) { $0 + count($1) })) }
        var document: [String: JSONValue] = [
            "url": .string(server.origin), "weight": .integer(Int64(server.weight)), "state": .string(state),
            "in_flight": sum { $0.inFlight }, "idle": sum { $0.idle }, "ejections": sum { $0.ejections },
        ]
        if let name {
            document["addresses"] = .array(name.addresses.map { .string($0.ipAddress ?? "") })
            document["is_resolved"] = .bool(!name.isFailing && !name.addresses.isEmpty)
        }
        return .object(document)
    }
}
