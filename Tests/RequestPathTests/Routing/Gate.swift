import RequestPath
import Settings
import Vocabulary

/// Routes that a test can ask for a path in the same way as the request path does.
struct Gate {
    enum Answer: Equatable {
        case route(String)
        case notFound
        case methodNotAllowed(String)
        case refused(Reason)
        case noHost
    }

    let table: RouteTable

    init(_ routes: [RouteSettings]) {
        self.init([HostSettings(publicURL: Self.app, endpoints: false, routes: routes)])
    }

    init(_ hosts: [HostSettings]) {
        self.table = RouteTable(hosts, upstreams: ["app"])
    }

    static let app = PublicURL(isHTTPS: true, host: "app.example.com", port: nil)

    /// `/admin/**` needs a session; all other paths are public.
    static let protectedAdmin = Gate([route("/**", .public), route("/admin/**", .required)])
    /// `/public/**` is public; all other paths need a session.
    static let openPublic = Gate([route("/public/**", .public), route("/**", .required)])

    func ask(_ path: String, method: String = "GET", host: String = "app.example.com") -> Answer {
        self.ask(Array(path.utf8), method: method, host: host)
    }

    func ask(_ path: [UInt8], method: String = "GET", host: String = "app.example.com") -> Answer {
        guard let entry = self.table.host(named: host) else { return .noHost }
        return withReading(path) { outcome in
            switch outcome {
            case .refused(let reason): return .refused(reason)
            case .read(let reading):
                let match = Array(method.utf8).withUnsafeBufferPointer {
                    self.table.match(host: entry, method: $0, rawPath: reading.raw, reading: reading)
                }
                switch match {
                case .route(let route): return .route(route.counted.name)
                case .notFound: return .notFound
                case .methodNotAllowed(let allow): return .methodNotAllowed(allow)
                case .refused(let reason): return .refused(reason)
                }
            }
        }
    }
}

/// A route named after its path.
func route(
    _ path: String,
    _ auth: AuthRequirement,
    methods: [String] = [],
    _ change: (inout RouteSettings) -> Void = { _ in }
) -> RouteSettings {
    var settings = RouteSettings(path: path, upstream: "app", auth: auth)
    settings.methods = methods
    change(&settings)
    return settings
}

func withReading<Value>(_ path: [UInt8], _ body: (PathReading.Outcome) -> Value) -> Value {
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 16_384) { scratch in
        path.withUnsafeBufferPointer { body(PathReading.read($0, into: scratch)) }
    }
}

/// The reading of a path as text, or why the path is refused.
func reading(_ path: String) -> Result<String, RefusedPath> {
    withReading(Array(path.utf8)) { outcome in
        switch outcome {
        case .read(let reading): .success(String(decoding: reading.bytes, as: UTF8.self))
        case .refused(let reason): .failure(RefusedPath(reason: reason))
        }
    }
}

struct RefusedPath: Error, Equatable {
    var reason: Reason
}
