import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Gets session-transfer tokens from the gateway for the app's refresh token.
///
/// With Auth0.swift, `credentialsManager.ssoCredentials()` does the same.
public actor TransferTokens {
    private struct Request: Encodable {
        var grant_type = "refresh_token"
        var client_id: String
        var refresh_token: String
        var audience: String
    }

    private struct Answer: Decodable {
        var access_token: String
        /// The refresh token has been replaced: the one that was sent counts no more.
        var refresh_token: String?
    }

    public struct Refused: Error {
        public var status: Int
    }

    private let gateway: URL
    private let clientID: String
    private var refreshToken: String
    private let keep: @Sendable (String) -> Void

    /// - Parameters:
    ///   - gateway: The host with the gateway's endpoints, e.g. `https://auth.example.com`.
    ///   - keep: Puts a new refresh token into the keychain.
    public init(gateway: URL, clientID: String, refreshToken: String, keep: @escaping @Sendable (String) -> Void) {
        self.gateway = gateway
        self.clientID = clientID
        self.refreshToken = refreshToken
        self.keep = keep
    }

    /// A token that signs one WebView in, once and within a minute.
    public func mint() async throws -> String {
        var request = URLRequest(url: self.gateway.appendingPathComponent("oauth/token"))
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.httpBody = try JSONEncoder().encode(
            Request(
                client_id: self.clientID,
                refresh_token: self.refreshToken,
                audience: "urn:\(self.gateway.host ?? ""):session_transfer"
            )
        )
        let (data, response) = try await URLSession.shared.data(for: request)
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        guard status == 200 else { throw Refused(status: status) }
        let answer = try JSONDecoder().decode(Answer.self, from: data)
        if let next = answer.refresh_token {
            self.refreshToken = next
            self.keep(next)
        }
        return answer.access_token
    }
}

/// What the gateway's page tells the app in place of a sign-in page.
public struct TransferChallenge: Decodable {
    private var type: String
    private var realm: String
    private var return_to: String

    /// The page to open again; nil if the message is no challenge of this site. `origin` is `https://app.example.com`.
    public static func page(in message: String, from origin: String) -> URL? {
        guard let challenge = try? JSONDecoder().decode(Self.self, from: Data(message.utf8)),
            challenge.type == "session_transfer", challenge.realm == origin,
            challenge.return_to.hasPrefix("/"), !challenge.return_to.hasPrefix("//")
        else { return nil }
        return URL(string: origin + challenge.return_to)
    }
}

/// How often the app answers a challenge before it lets the user sign in by hand: three times a minute. Without a bound, a
/// device whose tokens are refused, or a WebView that keeps no cookies, would go round for ever.
public struct TransferTries {
    private var times: [Date] = []

    public init() {}

    public mutating func next(now: Date = Date()) -> Bool {
        self.times.removeAll { now.timeIntervalSince($0) > 60 }
        self.times.append(now)
        return self.times.count <= 3
    }
}
