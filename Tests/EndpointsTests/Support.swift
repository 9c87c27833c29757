import EndpointBench
import Endpoints

/// A request as the listener passes it on; throws the reason for which it is refused before.
func request(
    method: String = "POST",
    fields: [(name: String, value: String)] = [],
    body: String = ""
) throws -> EndpointRequest {
    let endpoint = Endpoint(path: "/", methods: [method]) { _ in EndpointResponse(status: 200) }
    return try WireRequest(method, "/", fields: fields, body: Array(body.utf8)).received(by: endpoint)
}
