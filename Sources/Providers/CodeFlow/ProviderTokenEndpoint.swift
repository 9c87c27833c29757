import Calls
import JOSE
import Vocabulary

/// The token endpoint of a provider (RFC 6749 3.2).
struct ProviderTokenEndpoint: Sendable {
    /// The maximum size of an answer in bytes.
    private static let bodyLimit = 2 * JOSELimits.token

    let url: EndpointURL
    let client: ProviderClientAuthentication
    let proofs: PossessionProofs
    var timeLimit: Duration = .seconds(5)

    /// Requests tokens. The request is not retried, unless the server demands a DPoP nonce.
    ///
    /// - Parameter key: The key to bind the tokens to (RFC 9449); `nil` for bearer tokens.
    func ask(_ parameters: [URLQuery.Parameter], key: SigningKey?) async throws(TokenFault) -> ProviderTokenAnswer {
        var call = await self.client.post(parameters, to: self.url, audience: self.url)
        call.timeLimit = self.timeLimit
        // With a key, the request may be sent twice, and the limits must stay below the lease (`TokenRefresh`).
        call.hasTimeForAnswer = key == nil
        call.bodyLimit = Self.bodyLimit
        let answer: CallAnswer
        do throws(CallError) {
            if let key {
                answer = try await self.proofs.send(call, to: self.url, key: key)
            } else {
                answer = try await self.proofs.transport.send(call)
            }
        } catch {
            throw TokenFault(error)
        }
        return try ProviderTokenAnswer(answer)
    }
}

/// The reason why a token endpoint returned no tokens.
struct TokenFault: Error, Sendable, Equatable {
    enum Cause: Sendable, Equatable {
        /// An error of RFC 6749 5.2, or another negative answer. `error` is the code; `nil` if the answer has none.
        case refused(error: String?)
        /// The provider is overloaded or has failed, or a proxy answered. `after` is the `Retry-After`, if any.
        case busy(after: Duration?)
        /// The request did not reach the provider.
        case unsent
        /// The request was sent, but no usable answer came. The provider may have executed it.
        case lost
    }

    let cause: Cause
    /// The text for logs. It contains no token.
    let detail: String

    init(_ cause: Cause, _ detail: String) {
        self.cause = cause
        self.detail = detail
    }

    init(_ error: CallError) {
        self.init(error.isUnsent ? .unsent : .lost, error.detail)
    }
}

extension ProviderTokenAnswer {
    init(_ answer: CallAnswer) throws(TokenFault) {
        let value = Self.value(answer)
        let error = value.flatMap(Self.errorCode)
        switch answer.status {
        case 200:
            var flaw = Self.flaw(answer)
            if let value {
                do throws(Flaw) {
                    self = try ProviderTokenAnswer(value)
                    return
                } catch {
                    flaw = error.detail
                }
            }
            if let error {
                // Some OAuth 2.0 providers report errors with status 200.
                throw TokenFault(.refused(error: error), "the token endpoint answered \(error)")
            } else if Self.isOfEndpoint(answer) {
                throw TokenFault(.lost, "the token endpoint's answer is refused: it \(flaw)")
            } else {
                let detail = "the token endpoint answered with status 200 and a body that \(flaw)"
                throw TokenFault(.busy(after: answer.retryAfter), detail)
            }
        case 429, 500...599:
            let detail = "the token endpoint answered with status \(answer.status)"
            throw TokenFault(.busy(after: answer.retryAfter), detail)
        default:
            let words = error ?? "without an error code"
            throw TokenFault(
                .refused(error: error),
                "the token endpoint answered \(words) (status \(answer.status))"
            )
        }
    }

    /// Returns the members of the answer: those of a form if the media type says so, otherwise those of a JSON object.
    private static func value(_ answer: CallAnswer) -> JSONValue? {
        guard answer.isType("application/x-www-form-urlencoded") else { return answer.json() }
        guard let pairs = FormText.strictPairs(answer.body) else { return nil }
        let members = Dictionary(pairs.map { ($0.name, JSONValue.string($0.value)) }, uniquingKeysWith: { $1 })
        return members.count == pairs.count ? .object(members) : nil
    }

    /// Returns why the body has no members, as a text that continues "the body".
    private static func flaw(_ answer: CallAnswer) -> String {
        guard !answer.isType("application/x-www-form-urlencoded") else { return "is no form, or has a field twice" }
        do throws(JSONFault) {
            _ = try JSONText.object(answer.body, loneSurrogates: .replaced)
            return "is no answer of a token endpoint"
        } catch {
            return error.rawValue
        }
    }

    /// Returns whether the endpoint itself may have sent the body: a form or a JSON object, complete or not. Otherwise,
    /// a proxy answered, and the request had no effect.
    private static func isOfEndpoint(_ answer: CallAnswer) -> Bool {
        answer.isType("application/x-www-form-urlencoded") || answer.body.first { $0 > 0x20 } == UInt8(ascii: "{")
    }

    private static func errorCode(_ value: JSONValue) -> String? {
        value["error"]?.string.flatMap { ErrorCode.isPlausible($0) ? $0 : nil }
    }
}

/// The error codes in `error` (RFC 6749 4.1.2.1, 5.2).
enum ErrorCode {
    /// Returns whether the text is short and plain enough for logs. Anyone can send any text.
    static func isPlausible(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count) && text.utf8.allSatisfy { $0.isAlphanumeric || "_-.".utf8.contains($0) }
    }
}
