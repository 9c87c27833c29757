import Endpoints
import Settings
import Vocabulary

/// Writes the CORS fields of a route (Fetch 3.2). CORS fields that the app sends itself take precedence.
enum CrossOrigin {
    /// Returns the answer to a preflight on a route with these settings.
    static func preflight(
        _ cors: CORSSettings,
        from origin: UnsafeBufferPointer<UInt8>,
        _ requestID: RequestID
    ) -> LocalAnswer {
        guard let allowed = Self.allowedOrigin(cors, origin) else {
            return .problem(.requestCrossSite, requestID: requestID, fields: [("Vary", "Origin")])
        }
        var fields = Self.fields(cors, allowed)
        fields.append(("Access-Control-Allow-Methods", cors.methods.joined(separator: ", ")))
        if !cors.headers.isEmpty {
            fields.append(("Access-Control-Allow-Headers", cors.headers.joined(separator: ", ")))
        }
        fields.append(("Access-Control-Max-Age", String(cors.maxAge.components.seconds)))
        return LocalAnswer(EndpointResponse(status: 204, fields: fields))
    }

    /// Adds the route's CORS fields to a refusal, if the route allows the request's origin.
    static func readable(_ answer: LocalAnswer, _ given: borrowing RoutedRequest) -> LocalAnswer {
        guard let cors = given.route.settings.cors, let origin = given.value(.origin),
            let allowed = Self.allowedOrigin(cors, origin)
        else { return answer }
        var answer = answer
        answer.response.fields += Self.fields(cors, allowed)
        answer.response.fields.append(("Access-Control-Expose-Headers", "WWW-Authenticate, Retry-After, X-Request-Id"))
        return answer
    }

    /// Returns whether the app sends CORS fields itself. The gateway then adds none: duplicates are invalid (Fetch
    /// 4.9).
    static func allowsItself(_ head: ResponseHead, _ base: Bytes) -> Bool {
        let prefix: StaticString = "access-control-allow-"
        for index in 0..<head.fields.count where !head.fields[index].isDropped {
            let name = head.fields[index].name.bytes(in: base).prefix(prefix.utf8CodeUnitCount)
            if ByteClass.equal(UnsafeBufferPointer(rebasing: name), prefix) { return true }
        }
        return false
    }

    /// Returns the value of `Access-Control-Allow-Origin` for `origin`. `nil` if the origin is not allowed.
    private static func allowedOrigin(_ cors: CORSSettings, _ origin: UnsafeBufferPointer<UInt8>) -> String? {
        // Only whole origins match, without suffixes or wildcards within a name (CVE-2021-21291).
        if cors.origins.contains(where: { $0 != "*" && WebOrigin.isSame(origin, as: $0.utf8) }) {
            return String(decoding: origin, as: UTF8.self)
        }
        return cors.origins.contains("*") && !cors.credentials ? "*" : nil
    }

    private static func fields(_ cors: CORSSettings, _ allowed: String) -> [(name: String, value: String)] {
        var fields: [(name: String, value: String)] = [("Access-Control-Allow-Origin", allowed), ("Vary", "Origin")]
        if cors.credentials { fields.append(("Access-Control-Allow-Credentials", "true")) }
        return fields
    }
}
