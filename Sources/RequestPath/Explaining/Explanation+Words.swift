import Endpoints
import Vocabulary

/// How an explanation words what was read and what is answered.
extension Explanation {
    /// What the path reads as, where that is not the path itself.
    func reading(_ head: RequestHead, _ base: Bytes, _ given: JudgingContext) -> [String] {
        guard case .read(let reading) = PathReading.read(head.path.bytes(in: base), into: given.scratch),
            !reading.isRaw
        else { return [] }
        return ["the path reads as \(Self.text(reading.bytes))"]
    }

    static func words(_ answer: LocalAnswer, of host: HostEntry? = nil) -> String {
        let reason = answer.reason.map { ", \($0.rawValue)" } ?? ""
        if let location = answer.fields.first(where: { $0.name == "Location" })?.value {
            // The rest of the URL can hold what a query held.
            guard let host, location.hasPrefix("\(host.publicURL)\(SignInPath.path)?") else {
                return "303 to the same URL without the transfer token\(reason)"
            }
            let isAgain = location.hasSuffix("&\(SignInPath.prompt.name)=\(SignInPath.prompt.value)")
            return "303 to the login page\(isAgain ? ", to sign in again" : "")\(reason)"
        }
        let allow = answer.fields.first { $0.name == "Allow" }.map { "; Allow: \($0.value)" } ?? ""
        let status = "\(answer.status) \(StatusText.phrase(answer.status))"
        return answer.reason == nil ? "answered: \(status)\(allow)" : "refused: \(status)\(reason)\(allow)"
    }

    static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        String(decoding: bytes, as: UTF8.self)
    }

    /// A password or token of the app's is none of the reader's business.
    static func redacted(_ line: Substring) -> String {
        line.lowercased().hasPrefix("authorization:") ? "Authorization: <redacted>" : String(line)
    }
}
