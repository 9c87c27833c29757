import AddressIntelligence
import Endpoints
import Testing
import Vocabulary

/// A request as the listener passes it on.
func request(
    method: String = "POST",
    fields: [(name: String, value: String)] = [],
    body: String = ""
) throws -> EndpointRequest {
    EndpointRequest(
        method: method,
        path: "/",
        query: [],
        fields: fields,
        body: Array(body.utf8),
        address: try #require(IPAddress("192.0.2.1")),
        origin: "https://app.example.com",
        authority: "app.example.com",
        cookieReach: .site,
        requestID: "r1"
    )
}
