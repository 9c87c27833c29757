import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Why the app got no token. Each case asks for another answer of the app.
public enum GatewayError: Error, Equatable {
    /// The user is signed out: show the app's own sign-in.
    case signedOut
    /// No network, or the gateway is away or busy: the user stays signed in, so offer to try again, after as many seconds as
    /// the gateway says.
    case unavailable(after: Int?)
    /// The user closed the browser: nothing to say.
    case cancelled
    /// The gateway refuses what the app asks for, as it does when their settings do not fit: tell the developer.
    case refused(String)
}

/// The gateway's endpoints, as this app uses them.
public struct Gateway: Sendable {
    public typealias Send = @Sendable (URLRequest) async throws -> (Data, URLResponse)

    /// The host with the endpoints, e.g. `https://app.example.com`.
    public let origin: URL
    /// The name of this app among the gateway's `clients`.
    public let clientID: String
    /// Where the browser brings the user back to: one of the client's `callbacks`, or of `exchange.return_to`.
    public let callback: URL
    /// With `offline_access` the app gets a refresh token. The scopes of its API stand here, too.
    public let scope: String
    private let send: Send

    public init(
        origin: URL,
        clientID: String,
        callback: URL,
        scope: String = "openid offline_access",
        send: @escaping Send = Gateway.overTheNetwork()
    ) {
        self.origin = origin
        self.clientID = clientID
        self.callback = callback
        self.scope = scope
        self.send = send
    }

    /// Keeps no cookies and no answers, and waits 10 seconds: a dead network must not keep the user waiting.
    public static func overTheNetwork() -> Send {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = 10
        configuration.timeoutIntervalForResource = 30
        configuration.httpCookieStorage = nil
        configuration.urlCache = nil
        let session = URLSession(configuration: configuration)
        return { try await session.data(for: $0) }
    }

    func url(_ path: String, _ query: [String: String] = [:]) -> URL {
        var parts = URLComponents(url: self.origin, resolvingAgainstBaseURL: false) ?? URLComponents()
        parts.path = path
        if !query.isEmpty {
            parts.percentEncodedQuery = query.sorted { $0.key < $1.key }
                .map { "\($0.key)=\(Self.encoded($0.value))" }.joined(separator: "&")
        }
        return parts.url ?? self.origin
    }

    /// Percent-encodes all but the unreserved characters of RFC 3986; `URLQueryItem` leaves `+`, which servers read as a space.
    static func encoded(_ text: String) -> String {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
        )
        return text.addingPercentEncoding(withAllowedCharacters: unreserved) ?? ""
    }

    /// The body of an answer with one of the `expected` statuses.
    func call(
        _ method: String,
        _ url: URL,
        _ body: [String: String]? = nil,
        expected: Set<Int> = [200]
    ) async throws -> Data {
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        if let body {
            request.setValue("application/json", forHTTPHeaderField: "Content-Type")
            request.httpBody = try JSONEncoder().encode(body)
        }
        let (data, response) = try await self.answer(to: request)
        if expected.contains(response.statusCode) { return data }
        throw Self.error(response, data)
    }

    func answer(to request: URLRequest) async throws -> (Data, HTTPURLResponse) {
        do {
            let (data, response) = try await self.send(request)
            guard let response = response as? HTTPURLResponse else { throw GatewayError.unavailable(after: nil) }
            return (data, response)
        } catch let error as URLError where error.code != .cancelled {
            throw GatewayError.unavailable(after: nil)
        }
    }

    static func error(_ response: HTTPURLResponse, _ data: Data) -> GatewayError {
        let status = response.statusCode
        if status == 429 || status >= 500 {
            return .unavailable(after: response.value(forHTTPHeaderField: "Retry-After").flatMap { Int($0) })
        }
        let code = (try? JSONDecoder().decode(Refusal.self, from: data))?.error ?? "status \(status)"
        // Both statuses: an `invalid_grant` of a deleted user is 403.
        return code == "invalid_grant" ? .signedOut : .refused(code)
    }

    /// What the token endpoint says when it refuses (RFC 6749 5.2).
    private struct Refusal: Decodable {
        var error: String
    }
}
