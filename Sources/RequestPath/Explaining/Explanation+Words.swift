import Endpoints
import Settings
import Vocabulary

/// The texts about paths and answers.
extension Explanation {
    /// Returns lines about the normalised path, and about the path as some apps read it (decoded twice, or with `\` as
    /// `/`). Returns no lines if the path is already normalised.
    func reading(_ given: JudgingContext) -> [String] {
        guard case .read(let reading) = PathReading.read(given.head.path.bytes(in: given.base), into: given.scratch),
            !reading.isRaw
        else { return [] }
        let normal = "the path reads as \(Self.text(reading.bytes))"
        guard !reading.habits.isDisjoint(with: [.decodesTwice, .splitsBackslash]) else { return [normal] }
        let further = String(unsafeUninitializedCapacity: reading.raw.count) { room in
            room.baseAddress.map { reading.habits.union(.reading).read(reading.raw, into: $0) } ?? 0
        }
        return [normal, "some apps read it as \(further)"]
    }

    static func words(_ answer: EndpointResponse, of host: HostEntry? = nil) -> String {
        let reason = answer.reason.map { ", \($0.rawValue)" } ?? ""
        if let location = answer.fields.first(where: { $0.name == "Location" })?.value {
            // The URL is not shown, because it may contain parts of the query.
            guard let host, location.hasPrefix("\(host.publicURL)\(SignInPath.path)?") else {
                return "\(answer.status) to the same URL without the transfer token\(reason)"
            }
            let demand = SignInDemand(FormText.pairs(location.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst()))
            var wish = demand.isAgain ? ", to sign in again" : ""
            if let aal = demand.aal { wish += ", at \(aal.rawValue)" }
            if let maxAge = demand.maxAge { wish += ", at most \(maxAge.components.seconds) s ago" }
            return "303 to the login page\(wish)\(reason)"
        }
        let allow = answer.fields.first { $0.name == "Allow" }.map { "; Allow: \($0.value)" } ?? ""
        let native =
            answer.native.map { challenge in
                "; the native app is asked for " + (challenge.demandsSignIn ? "a new sign-in and " : "")
                    + "another transfer token"
            } ?? ""
        let status = "\(answer.status) \(StatusText.phrase(answer.status))"
        return answer.reason == nil ? "answered: \(status)\(allow)" : "refused: \(status)\(reason)\(native)\(allow)"
    }

    static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// Returns a line of a head with secrets replaced: `Authorization`, assertions, and values that the route sets.
    static func redacted(_ line: Substring, audience: String, setBy changes: FieldChanges = FieldChanges()) -> String {
        if let field = changes.set.first(where: { line.hasPrefix("\($0.name):") && !$0.isClientAddress }) {
            return "\(field.name): <set by the route>"
        }
        if line.lowercased().hasPrefix("authorization:") { return "Authorization: <redacted>" }
        if line.hasPrefix("\(AssertionSigner.field):") { return "\(AssertionSigner.field): <signed for \(audience)>" }
        return String(line)
    }
}
