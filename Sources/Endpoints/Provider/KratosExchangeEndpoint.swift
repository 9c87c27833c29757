import AddressIntelligence
import Calls
package import Providers
import Sessions
package import SignOn
import Vocabulary

/// `GET /sessions/token-exchange`, passed on to Kratos. Kratos itself returns the session to anyone with the two codes,
/// any number of times. The gateway passes the session on once. For 30 seconds, a client at the same address can get it
/// again, because the answer may have been lost.
package struct KratosExchangeEndpoint: Sendable {
    private let kratos: KratosProvider
    private let claims: ExchangeClaims
    private let sessions: SessionService

    /// - Parameter sessions: Records replayed codes.
    package init(kratos: KratosProvider, claims: ExchangeClaims, sessions: SessionService) {
        self.kratos = kratos
        self.claims = claims
        self.sessions = sessions
    }

    package var endpoint: Endpoint {
        Endpoint(path: KratosProvider.exchangePath, methods: ["GET"], outlivesClient: true) { await self.answer($0) }
    }

    private func answer(_ request: EndpointRequest) async -> EndpointResponse {
        let initCode = request.parameters("init_code").first ?? ""
        let returnToCode = request.parameters("return_to_code").first ?? ""
        let codes = [initCode, returnToCode]
        // Kratos's codes are letters and digits. Its database may treat other texts as equal to a code.
        guard codes.allSatisfy({ $0.utf8.allSatisfy(Self.isOfCode) }) else { return Self.none(.codeUnknown, request) }
        let answer = await self.kratos.exchange(
            initCode: initCode,
            returnToCode: returnToCode,
            fields: KratosRelay.fields(of: request)
        )
        guard let answer else { return Herodot.unavailable(.providerUnavailable, to: request) }
        guard (200..<300).contains(answer.status) else { return KratosRelay.response(answer) }
        guard let signedInAt = self.kratos.signedInAt(answer) else {
            return Herodot.unavailable(.providerUnavailable, to: request)
        }
        do throws(NotDone) {
            // The database may ignore the case of letters.
            try await self.claims.claim(
                codes.map { $0.lowercased() },
                at: self.kratos.name,
                signedInAt: signedInAt,
                by: request.address
            )
            return KratosRelay.response(answer)
        } catch {
            if error.isUnavailable { return Herodot.unavailable(error.reason, to: request) }
            if error.reason == .codeReplayed {
                await self.sessions.recordDenial(.codeReplayed, for: request.requester.withoutCookies)
            }
            return Self.none(error.reason, request)
        }
    }

    private static func isOfCode(_ byte: UInt8) -> Bool { byte &- 0x30 <= 9 || (byte | 0x20) &- 0x61 < 26 }

    /// Returns Kratos's answer to codes that name no session.
    private static func none(_ reason: Reason, _ request: EndpointRequest) -> EndpointResponse {
        Herodot.error(reason, "no session yet for this \"code\"", to: request, status: 404)
    }
}
