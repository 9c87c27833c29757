package com.example.app

import java.io.IOException
import java.net.HttpURLConnection
import java.net.URI
import java.net.URL
import java.net.URLEncoder
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.withContext
import org.json.JSONException
import org.json.JSONObject

/** Why the app got no token. Each case asks for another answer of the app. */
sealed class GatewayException(reason: String) : Exception(reason) {
    /** The user is signed out: show the app's own sign-in. */
    class SignedOut : GatewayException("signed out")

    /** No network, or the gateway is away or busy: the user stays signed in, so offer to try again, after as many seconds. */
    class Unavailable(reason: String, val after: Int? = null) : GatewayException(reason)

    /** The user closed the browser: nothing to say. */
    class Cancelled : GatewayException("cancelled")

    /** The gateway refuses what the app asks for, as it does when their settings do not fit: tell the developer. */
    class Refused(reason: String) : GatewayException(reason)
}

/**
 * The gateway's endpoints, as this app uses them.
 *
 * @param origin the host with the endpoints, e.g. `https://app.example.com`
 * @param clientId the name of this app among the gateway's `clients`
 * @param callback where the browser brings the user back to: one of the client's `callbacks`, or of `exchange.return_to`
 * @param scope with `offline_access` the app gets a refresh token; the scopes of its API stand here, too
 */
class Gateway(
    val origin: String,
    val clientId: String,
    val callback: String,
    val scope: String = "openid offline_access",
) {
    internal fun url(path: String, query: Map<String, String> = emptyMap()): String =
        origin + path + query.entries.joinToString("&", if (query.isEmpty()) "" else "?") { (name, value) ->
            "$name=${encoded(value)}"
        }

    /** The tokens that the gateway gives for [parameters] (RFC 6749, RFC 8693). */
    internal suspend fun tokens(parameters: Map<String, String>): JSONObject =
        call("POST", url("/oauth/token"), parameters + ("client_id" to clientId))

    /** The audience of transfer tokens. */
    internal val transferAudience = "urn:${URI(origin).host}:session_transfer"

    /** The JSON of an answer with the status [expected]; empty if it has none. */
    internal suspend fun call(
        method: String,
        url: String,
        body: Map<String, String>? = null,
        expected: Int = 200,
    ): JSONObject {
        val answer = send(method, url, mapOf("Accept" to "application/json"), body?.let { JSONObject(it).toString() })
        if (answer.status != expected) throw refusal(answer)
        return json(answer)
    }

    /** Why [answer] has another status than the expected one. */
    internal fun refusal(answer: Answer): GatewayException {
        if (answer.status == 429 || answer.status >= 500) {
            return GatewayException.Unavailable("status ${answer.status}", answer.retryAfter)
        }
        // Whatever the status: an `invalid_grant` of a deleted user is 403.
        val error = json(answer).opt("error") as? String
        if (error == "invalid_grant") return GatewayException.SignedOut()
        return GatewayException.Refused(error ?: "status ${answer.status}")
    }

    private fun json(answer: Answer): JSONObject = try {
        JSONObject(answer.text)
    } catch (_: JSONException) {
        JSONObject()
    }

    /** What a server answered. */
    class Answer(val status: Int, val text: String, val retryAfter: Int?)

    /** Waits 10 seconds at most for the next byte: without a limit a dead network would keep the user waiting for ever. */
    internal suspend fun send(method: String, url: String, fields: Map<String, String>, body: String? = null): Answer =
        withContext(Dispatchers.IO) {
            try {
                val connection = URL(url).openConnection() as HttpURLConnection
                try {
                    connection.requestMethod = method
                    connection.connectTimeout = 10_000
                    connection.readTimeout = 10_000
                    connection.instanceFollowRedirects = false
                    connection.useCaches = false
                    fields.forEach { (name, value) -> connection.setRequestProperty(name, value) }
                    if (body != null) {
                        val bytes = body.toByteArray()
                        connection.setRequestProperty("Content-Type", "application/json")
                        connection.doOutput = true
                        // With a known length the system does not repeat the request by itself.
                        connection.setFixedLengthStreamingMode(bytes.size)
                        connection.outputStream.use { it.write(bytes) }
                    }
                    val status = connection.responseCode
                    val stream = if (status < 400) connection.inputStream else connection.errorStream
                    val text = stream?.bufferedReader()?.use { it.readText() } ?: ""
                    Answer(status, text, connection.getHeaderField("Retry-After")?.toIntOrNull())
                } finally {
                    connection.disconnect()
                }
            } catch (error: IOException) {
                throw GatewayException.Unavailable(error.toString())
            }
        }
}

/** Percent-encodes all but the unreserved characters of RFC 3986, as far as `URLEncoder` can. */
internal fun encoded(text: String): String = URLEncoder.encode(text, "UTF-8").replace("+", "%20")
