import Endpoints
import NIOCore
import RequestPath
import Settings
import Synchronization
import Vocabulary

/// The servers of all apps, for `sallyport upstreams`.
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
            let servers = zip(app.servers, target.servers).flatMap { server, shared in
                let own = reports.filter { $0.upstream == app.name && $0.server == server.origin }
                // A name with several addresses has an entry for each address.
                let places = Set(own.map(\.place)).sorted { ($0 ?? "") < ($1 ?? "") }
                return (places.isEmpty ? [nil] : places).map { place in
                    Self.document(server, place, shared.nameState, own.filter { $0.place == place })
                }
            }
            return [
                "name": .string(app.name), "balance": .string(app.balance.rawValue), "servers": .array(servers),
            ]
        }
    }

    /// - Parameters:
    ///   - place: One of the name's addresses; `nil` for all.
    ///   - name: The state of name resolution; `nil` if the server is configured by address.
    ///   - reports: The reports of all event loops.
    private static func document(
        _ server: ServerSettings,
        _ place: String?,
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
            document["addresses"] = .array(
                (place.map { [$0] } ?? name.addresses.map { $0.ipAddress ?? "" }).map { .string($0) }
            )
            document["is_resolved"] = .bool(!name.isFailing && !name.addresses.isEmpty)
        }
        return .object(document)
    }
}
