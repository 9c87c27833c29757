import AddressIntelligence
import Calls
import Providers
import Vocabulary

/// The fields of requests that the gateway passes on to Kratos, and of Kratos's answers.
enum KratosRelay {
    /// The fields that Kratos gets. Kratos would trust a client's address in several other fields.
    private static let passed: Set<String> = [
        "accept", "accept-language", "content-type", "origin", "referer", "user-agent", "x-session-cookie",
    ]

    /// Returns the fields of the request for Kratos, without credentials.
    static func fields(of request: EndpointRequest) -> [(name: String, value: String)] {
        request.fields.filter { Self.passed.contains($0.name) } + [
            ("x-forwarded-for", request.address.description),
            ("x-forwarded-proto", request.origin.hasPrefix("https:") ? "https" : "http"),
            ("x-forwarded-host", request.authority),
        ]
    }

    /// Returns Kratos's answer without the fields of its connection (RFC 9110 7.6.1).
    static func response(_ answer: CallAnswer) -> EndpointResponse {
        let dropped: Set<String> = [
            "connection", "keep-alive", "proxy-connection", "transfer-encoding", "te", "trailer", "upgrade",
            "content-length", "date", "x-request-id",
        ]
        return EndpointResponse(
            status: answer.status,
            fields: answer.fields.filter { !dropped.contains($0.name) },
            body: answer.body
        )
    }
}
