import Foundation

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

/// Another place where the user is signed in: an app or a browser.
public struct OtherSession: Sendable, Decodable, Identifiable {
    public struct Device: Sendable, Decodable {
        public var ip_address: String
        public var user_agent: String
    }

    public var id: String
    /// The time of the sign-in (RFC 3339).
    public var issued_at: String
    /// The device of the sign-in, if the gateway knows it.
    public var devices: [Device]
}

/// Where else the user is signed in. After a sign-in at `/authorize`, this needs the scope `sessions`, and `manage_sessions` in the
/// client's settings.
extension AppSession {
    /// The user's other sessions, the latest first. This app's session is not one of them.
    public func otherSessions() async throws -> [OtherSession] {
        try JSONDecoder().decode([OtherSession].self, from: try await self.call("GET", "/sessions"))
    }

    /// Signs one of the other sessions out, for example the lost phone.
    public func endSession(_ other: OtherSession) async throws {
        // 404: the session has ended.
        _ = try await self.call("DELETE", "/sessions/\(other.id)", expected: [204, 404])
    }

    /// Signs all the other sessions out, also the pages in this app's WebViews, which then get new ones.
    public func endOtherSessions() async throws {
        _ = try await self.call("DELETE", "/sessions")
    }

    private func call(_ method: String, _ path: String, expected: Set<Int> = [200]) async throws -> Data {
        var request = URLRequest(url: self.gateway.url(path))
        request.httpMethod = method
        request.setValue("application/json", forHTTPHeaderField: "Accept")
        let (data, response) = try await self.data(for: request)
        guard expected.contains(response.statusCode) else { throw Gateway.error(response, data) }
        return data
    }
}
