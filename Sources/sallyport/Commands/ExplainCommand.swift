import AddressIntelligence
import ArgumentParser
import Endpoints
import Foundation
import NIOCore
import RequestPath
import Sessions
import Settings
import Vocabulary

/// `sallyport explain`: what the gateway would do with a request, without sending one.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract:
            "Print what the gateway would do with a request: normalised path, route, decision, headers to the app.",
        discussion: """
            Sends nothing and asks neither a running gateway nor Redis, so it checks only the form of a token. With --user it assumes a live session of that user.
            """
    )

    @OptionGroup var options: SettingsOptions
    @OptionGroup var insecure: InsecureOptions

    @Option(help: ArgumentHelp("The URL as a client requests it; the path is used byte for byte.", valueName: "url"))
    var url: String

    @Option(help: ArgumentHelp("The method.", valueName: "method"))
    var method = "GET"

    @Option(
        name: .customLong("header"),
        help: ArgumentHelp("A field, e.g. 'Accept: text/html'. Repeatable.", valueName: "field")
    )
    var headers: [String] = []

    @Option(help: ArgumentHelp("A file with a bearer token for the request; - is standard input.", valueName: "file"))
    var tokenFile: String?

    @Option(
        help: ArgumentHelp(
            "Assume a live session of this user of the static provider: by token with --token-file, else by cookie.",
            valueName: "identifier"
        )
    )
    var user: String?

    @Option(help: ArgumentHelp("The address that the request comes from.", valueName: "address"))
    var from = "127.0.0.1"

    func run() async throws {
        do {
            let loaded = try self.options.load(self.insecure.flags)
            for step in try await self.explanation(Draft(loaded.settings), loaded.settings).steps {
                Console.say("\(step.title)\n\(step.lines.map { "  \($0)" }.joined(separator: "\n"))")
            }
        } catch let failure as SettingsFailure {
            Console.complain("invalid settings:\n\(failure)")
            throw ExitCode.failure
        } catch let refusal as StartRefusal {
            Console.complain(refusal.description)
            throw ExitCode.failure
        }
    }

    private func explanation(_ draft: Draft, _ settings: Settings) async throws -> Explanation {
        guard let peer = IPAddress(self.from) else { throw ValidationError("--from must be an IP address.") }
        var request = try Request(url: self.url, method: self.method, headers: self.headers)
        let host = draft.assembly.configuration.routes.host(named: request.authority)
        let token = try self.token()
        var assumed: Assumed?
        if let user = self.user {
            assumed = try Assumed(
                user: user,
                isNative: token != nil,
                authority: host?.publicURL.authority ?? request.authority.lowercased(),
                settings,
                draft.foundations,
                Explanation.device(of: request.bytes, from: peer, configuration: draft.assembly.configuration)
            )
        }
        if let token {
            if draft.foundations.authority.key(.session, of: token) == nil {
                Console.say("note\n  the token does not have the form of a session token made with this secret")
            }
            request.headers.append("Authorization: Bearer \(assumed?.token ?? String(decoding: token, as: UTF8.self))")
        } else if let assumed {
            let isSecure = host?.publicURL.isHTTPS ?? self.url.lowercased().hasPrefix("https:")
            let cookie = SessionCookie(name: settings.session.cookieName, isSecure: isSecure)
            request.add(cookie: "\(cookie.name)=\(assumed.token)")
        }
        let head = request.bytes
        let configuration = draft.assembly.configuration
        let foundations = draft.foundations
        let loop = foundations.group.any()
        return try await loop.flatSubmit { [assumed] () -> EventLoopFuture<Explanation> in
            let now = foundations.clock.now()
            let found: EventLoopFuture<CachedSession?>
            let resolver = SessionResolver(
                loop: loop,
                cache: SessionCache(),
                store: foundations.store,
                authority: foundations.authority,
                clock: foundations.clock
            )
            let resolution = assumed.map { assumed in
                Array(assumed.token.utf8).withUnsafeBytes { resolver.resolve(assumed.kind, token: $0, now: now) }
            }
            if case .miss(let read) = resolution {
                found = read.future
            } else {
                found = loop.assumeIsolated().makeSucceededFuture(nil)
            }
            return found.assumeIsolated().map { session in
                _ = resolver
                return Explanation(
                    of: head,
                    from: peer,
                    session: session,
                    authority: foundations.authority,
                    configuration: configuration,
                    now: now
                )
            }.nonisolated()
        }.get()
    }

    private func token() throws -> [UInt8]? {
        guard let file = self.tokenFile else { return nil }
        let data =
            file == "-"
            ? FileHandle.standardInput.readDataToEndOfFile() : FileManager.default.contents(atPath: file)
        guard let data else { throw ValidationError("The file of --token-file cannot be read.") }
        let text = String(decoding: data, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return Array(text.utf8)
    }
}

/// The request that is explained.
private struct Request {
    var authority: String
    var target: String
    var method: String
    var headers: [String]

    init(url: String, method: String, headers: [String]) throws {
        guard let scheme = url.firstRange(of: "://"),
            ["http", "https"].contains(url[..<scheme.lowerBound].lowercased())
        else { throw ValidationError("--url must begin with http:// or https://.") }
        let rest = url[scheme.upperBound...]
        let end = rest.firstIndex { $0 == "/" || $0 == "?" } ?? rest.endIndex
        self.authority = String(rest[..<end])
        let target = rest[end...]
        self.target = target.hasPrefix("/") ? String(target) : "/\(target)"
        self.method = method
        self.headers = headers
    }

    /// Adds a cookie to the request's own, as a browser sends them all in one field (RFC 6265 5.4).
    mutating func add(cookie: String) {
        if let index = self.headers.firstIndex(where: { $0.lowercased().hasPrefix("cookie:") }) {
            self.headers[index] += "; \(cookie)"
        } else {
            self.headers.append("Cookie: \(cookie)")
        }
    }

    /// The head as a client would send it. The parser finds what is wrong with it.
    var bytes: [UInt8] {
        let lines = ["\(self.method) \(self.target) HTTP/1.1", "Host: \(self.authority)"] + self.headers
        return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }
}

/// A session that is assumed to exist, stored in the draft's store.
private struct Assumed: Sendable {
    let token: String
    let kind: Session.Kind

    init(
        user identifier: String,
        isNative: Bool,
        authority: String,
        _ settings: Settings,
        _ foundations: Foundations,
        _ device: DeviceFacts
    ) throws {
        guard case .fixedUsers(let users)? = settings.provider,
            let user = users.first(where: { $0.identifier == identifier })
        else { throw ValidationError("--user must name a user of the static provider.") }
        let lineage = foundations.authority.newLineage()
        let (token, key) = foundations.authority.make(.session, in: lineage)
        let now = foundations.clock.now()
        let lifetimes = isNative ? settings.session.native : settings.session.browser
        let session = Session(
            id: foundations.authority.newSessionID(),
            kind: isNative ? .native : .web,
            origin: isNative ? .native : .browser,
            lineage: lineage,
            identity: Identity(id: user.id, traits: user.traits),
            host: isNative ? nil : authority,
            aal: user.aal,
            methods: ["password"],
            authenticatedAt: now,
            issuedAt: now,
            expiresAt: now.advanced(by: lifetimes.absolute),
            idleLifetime: lifetimes.idle,
            device: device
        )
        let loop = foundations.group.any()
        try foundations.store.create(NewSession(key: key, session: session), on: loop).wait()
        self.token = String(decoding: token.bytes, as: UTF8.self)
        self.kind = session.kind
    }
}
