import EndpointBench
import Endpoints
import Providers
import Rules
import Settings
import SignOn
import Testing
import Vocabulary

/// A browser that signs in at a scripted provider, and the gateway's endpoints.
struct SigningBrowser {
    typealias Query = [(name: String, value: String)]

    static let navigation = [(name: "sec-fetch-mode", value: "navigate"), (name: "accept", value: "text/html")]

    let gateway: Gateway
    let provider: ScriptedBrowserProvider
    var jar = BrowserJar()

    init(
        host: String = "app.example.com",
        exchange: ExchangeSettings = Gateway.exchange,
        rules: RuleBook = RuleBook(),
        session: SessionSettings = SessionSettings(),
        providerEndsSessions: Bool = false,
        byForm: Bool = false
    ) throws {
        self.provider = ScriptedBrowserProvider(byForm: byForm)
        self.gateway = try Gateway(
            host: host,
            browser: self.provider,
            providerEndsSessions: providerEndsSessions,
            exchange: exchange,
            rules: rules,
            session: session
        )
    }

    /// A browser of another user, or another browser of this one.
    init(beside other: SigningBrowser) {
        self.provider = other.provider
        self.gateway = other.gateway
    }

    /// Loads a page and keeps its cookies.
    mutating func load(
        _ path: String,
        _ query: Query = [],
        fields: Query = Self.navigation,
        method: String = "GET",
        from address: String = "192.0.2.1"
    ) async throws -> EndpointResponse {
        let response = try await self.gateway.send(
            method,
            path,
            query: query,
            fields: fields + self.jar.fields,
            from: address
        )
        self.jar.take(response)
        return response
    }

    /// Begins a sign-in and returns its id.
    @discardableResult
    mutating func begin(_ query: (name: String, value: String)...) async throws -> String {
        let response = try await self.load("/.sallyport/login", query)
        let location = try #require(response.value("location"), "\(response.status) \(response.text)")
        try #require(location.hasPrefix("https://idp.example.com/authorize?state="))
        return String(location.split(separator: "=")[1])
    }

    /// Comes back from the provider.
    mutating func comeBack(_ id: String, _ parameters: (name: String, value: String)...) async throws
        -> EndpointResponse
    {
        let parameters: Query = parameters.isEmpty ? [("code", "c-1")] : parameters
        return try await self.load("/.sallyport/callback", parameters + [("state", id)])
    }

    /// Signs in and returns the session's token.
    @discardableResult
    mutating func signIn(_ query: (name: String, value: String)...) async throws -> String {
        let response = try await self.load("/.sallyport/login", query)
        let id = try #require(response.value("location")?.split(separator: "=").last.map(String.init))
        let answer = try await self.comeBack(id)
        try #require(answer.status == 303, "\(answer.text)")
        return try #require(self.session)
    }

    /// The token in the session cookie.
    var session: String? { self.jar["__Host-sallyport"] }

    /// The ids of the sign-ins that the browser keeps.
    var kept: [String] {
        self.jar.cookies.keys.filter { $0.hasPrefix("__Host-sallyport-signin-") }.map { String($0.dropFirst(24)) }
            .sorted()
    }

    /// The user of the browser's session; nil if it has none.
    func user() async throws -> String? {
        let answer = try await self.gateway.send("GET", "/.sallyport/session", fields: self.jar.fields)
        return answer.status == 200 ? answer.document?["identity"]?["external_id"]?.string : nil
    }

    /// The reasons in the audit stream, in order.
    var reasons: [Reason] { self.gateway.audit.records.compactMap(\.reason) }
}
