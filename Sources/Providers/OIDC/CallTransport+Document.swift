import Calls

extension CallTransport {
    /// Fetches a public document.
    ///
    /// - Throws: `MetadataError` if there is no answer with status 200.
    func document(
        at url: String,
        for purpose: OutgoingCall.Purpose,
        bodyLimit: Int
    ) async throws(MetadataError) -> [UInt8] {
        let fields = [(name: "accept", value: "application/json")]
        let answer: CallAnswer
        do throws(CallError) {
            answer = try await self.send(OutgoingCall("GET", url, for: purpose, fields: fields, bodyLimit: bodyLimit))
        } catch {
            throw MetadataError(error.detail)
        }
        guard answer.status == 200 else { throw MetadataError("\(url) answered with status \(answer.status)") }
        return answer.body
    }
}
