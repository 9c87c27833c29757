package com.example.app

import java.security.MessageDigest
import java.security.SecureRandom
import java.util.Base64
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Deferred
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.async
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import org.json.JSONObject

/**
 * Whether the user is signed in to the app, and the tokens for that. One object for the whole app.
 *
 * @param changed called with whether the user is signed in, on any thread
 */
class AppSession(
    internal val gateway: Gateway,
    private val store: TokenStore,
    private val changed: (Boolean) -> Unit = {},
) {
    /** Goes on when who waits is cancelled, as a closed view's scope is: a new credential must not be lost. */
    private val scope = CoroutineScope(SupervisorJob() + Dispatchers.IO)
    private val turn = Mutex()
    @Volatile private var access: AccessToken? = null
    private var refresh: Deferred<String>? = null

    private class AccessToken(val value: String, val ends: Long)

    /**
     * What the app keeps: a refresh token, from `/authorize`, which each use replaces, or a session token, from the exchange of
     * two codes, which stays the same until the session ends and is the app's access token, too.
     */
    private class Credential(val isSession: Boolean, val token: String)

    suspend fun isSignedIn(): Boolean = scope.async { credential() != null }.await()

    /**
     * Begins a sign-in at `/authorize`, with PKCE (RFC 7636) and a state. The app gets a refresh token. What completes it is
     * stored, because the system may end the app while the browser is open.
     *
     * @return the page to open in the system's browser
     */
    suspend fun beginSignIn(): String {
        val verifier = random()
        val state = random()
        begin(JSONObject().put("verifier", verifier).put("state", state))
        return gateway.url(
            "/authorize",
            mapOf(
                "response_type" to "code", "client_id" to gateway.clientId, "redirect_uri" to gateway.callback,
                "scope" to gateway.scope, "state" to state, "code_challenge" to challenge(verifier),
                "code_challenge_method" to "S256",
            ),
        )
    }

    /**
     * Begins a sign-in as Kratos's apps do. The app gets a session token.
     *
     * @param provider one of the gateway's `exchange.providers`
     */
    suspend fun beginExchange(provider: String): String {
        val query = mapOf("return_session_token_exchange_code" to "true", "return_to" to gateway.callback)
        val flow = gateway.call("GET", gateway.url("/self-service/login/api", query))
        val action = flow.getJSONObject("ui").getString("action")
        val way = gateway.call("POST", action, mapOf("method" to "oidc", "provider" to provider), expected = 422)
        begin(JSONObject().put("code", flow.getString("session_token_exchange_code")))
        return way.getString("redirect_browser_to")
    }

    private suspend fun begin(pending: JSONObject) = scope.async { store.save(PENDING, pending.toString()) }.await()

    /** Completes the sign-in with the URL with which the browser came back. */
    suspend fun finishSignIn(url: String): Unit = scope.async {
        turn.withLock {
            val pending = store.load(PENDING)?.let { JSONObject(it) }
                ?: throw GatewayException.Refused("no sign-in is under way")
            if (url.substringBefore('#').substringBefore('?') != gateway.callback) {
                throw GatewayException.Refused("another callback")
            }
            val values = parameters(url)
            if (pending.has("code")) exchange(pending.getString("code"), values) else redeem(pending, values)
            store.delete(PENDING)
        }
        changed(true)
    }.await()

    private suspend fun redeem(pending: JSONObject, values: Map<String, String>) {
        // Else it is the answer to a request that this app did not make.
        if (values["state"] != pending.getString("state")) throw GatewayException.Refused("another state")
        values["error"]?.let {
            throw if (it == "temporarily_unavailable") GatewayException.Unavailable(it) else GatewayException.Refused(it)
        }
        val parameters = mapOf(
            "grant_type" to "authorization_code", "code" to (values["code"] ?: throw GatewayException.Refused("no code")),
            "redirect_uri" to gateway.callback, "code_verifier" to pending.getString("verifier"),
        )
        val answer = once { gateway.tokens(parameters) }
        keep(false, answer.text("refresh_token") ?: throw GatewayException.Refused("no refresh token"))
        access = answer.accessToken()
    }

    private suspend fun exchange(initCode: String, values: Map<String, String>) {
        val code = values["code"] ?: throw GatewayException.Refused("no code")
        val codes = mapOf("init_code" to initCode, "return_to_code" to code)
        val answer = once { gateway.call("GET", gateway.url("/sessions/token-exchange", codes)) }
        keep(true, answer.getString("session_token"))
        access = null
    }

    /** A code that is not good any more: nobody was signed in. */
    private suspend fun once(work: suspend () -> JSONObject): JSONObject = try {
        work()
    } catch (_: GatewayException.SignedOut) {
        throw GatewayException.Refused("the code has ended")
    }

    /** A token for the app's API, good for 30 seconds at least. All who need one wait for the same refresh. */
    suspend fun accessToken(): String {
        access?.takeIf { it.ends > System.currentTimeMillis() + 30_000 }?.let { return it.value }
        val flight = synchronized(this) {
            refresh?.takeIf { it.isActive } ?: scope.async { inTurn(::freshToken) }.also { refresh = it }
        }
        return flight.await()
    }

    private suspend fun freshToken(credential: Credential): String {
        if (credential.isSession) return credential.token
        // A refresh that has just ended has given one.
        access?.takeIf { it.ends > System.currentTimeMillis() + 30_000 }?.let { return it.value }
        return use(credential.token).accessToken().also { access = it }.value
    }

    /** The answer of the app's API. A token that was ended early is replaced once. */
    suspend fun get(url: String): Gateway.Answer = send("GET", url)

    internal suspend fun send(method: String, url: String): Gateway.Answer {
        suspend fun withToken() = gateway.send(method, url, mapOf("Authorization" to "Bearer ${accessToken()}"))
        val first = withToken()
        if (first.status != 401) return first
        access = null
        return withToken()
    }

    /** A token that signs one WebView or browser in, once and within a minute. Each page needs one of its own. */
    suspend fun transferToken(): String = scope.async {
        inTurn { credential ->
            val audience = mapOf("audience" to gateway.transferAudience)
            val answer = if (!credential.isSession) use(credential.token, audience) else gateway.tokens(
                audience + mapOf(
                    "grant_type" to "urn:ietf:params:oauth:grant-type:token-exchange",
                    "subject_token" to credential.token,
                    "subject_token_type" to "urn:sallyport:params:oauth:token-type:session_token",
                ),
            )
            answer.getString("access_token")
        }
    }.await()

    /**
     * Signs the user out: of this app, and of all browsers and WebViews that it has signed in. On the device that holds even if
     * this throws `Unavailable`; then the gateway learns nothing of it, and its sessions end by themselves.
     */
    suspend fun signOut(): Unit = scope.async {
        inTurn { credential ->
            forget()
            if (credential.isSession) {
                val body = mapOf("session_token" to credential.token)
                gateway.call("DELETE", gateway.url("/self-service/logout/api"), body, expected = 204)
            } else {
                val body = mapOf("client_id" to gateway.clientId, "token" to credential.token)
                gateway.call("POST", gateway.url("/oauth/revoke"), body)
            }
            Unit
        }
    }.await()

    /**
     * The page that ends the session of the system's browser, if the next sign-in is to ask for a password again. Open it as the
     * sign-in's; `callback` must be one of the client's `allowed_logout_urls`.
     */
    val signOutPage: String
        get() = gateway.url(
            "/oidc/logout",
            mapOf("client_id" to gateway.clientId, "post_logout_redirect_uri" to gateway.callback),
        )

    private suspend fun use(refreshToken: String, more: Map<String, String> = emptyMap()): JSONObject {
        val grant = mapOf("grant_type" to "refresh_token", "refresh_token" to refreshToken)
        val answer = gateway.tokens(grant + more)
        // The one that was sent counts no more.
        answer.text("refresh_token")?.let { keep(false, it) }
        return answer
    }

    /** Uses the credential after all earlier uses, since each replaces it. */
    private suspend fun <Value> inTurn(work: suspend (Credential) -> Value): Value = turn.withLock {
        val credential = credential() ?: throw GatewayException.SignedOut()
        try {
            work(credential)
        } catch (error: GatewayException.SignedOut) {
            forget()
            throw error
        }
    }

    private fun keep(isSession: Boolean, token: String) =
        store.save(CREDENTIAL, JSONObject().put("isSession", isSession).put("token", token).toString())

    private fun credential(): Credential? =
        store.load(CREDENTIAL)?.let { JSONObject(it) }?.let { Credential(it.getBoolean("isSession"), it.getString("token")) }

    private fun forget() {
        access = null
        store.delete(CREDENTIAL)
        changed(false)
    }

    private fun JSONObject.accessToken() =
        AccessToken(getString("access_token"), System.currentTimeMillis() + optLong("expires_in") * 1000)

    /** A member that may be missing or null. */
    private fun JSONObject.text(name: String): String? = if (isNull(name)) null else getString(name)

    internal companion object {
        const val CREDENTIAL = "credential"
        const val PENDING = "pending"

        private fun base64URL(bytes: ByteArray): String = Base64.getUrlEncoder().withoutPadding().encodeToString(bytes)

        private fun random(): String = base64URL(ByteArray(32).also { SecureRandom().nextBytes(it) })

        /** The code_challenge of a code_verifier (RFC 7636 4.2). */
        fun challenge(verifier: String): String =
            base64URL(MessageDigest.getInstance("SHA-256").digest(verifier.toByteArray()))
    }
}

/** The parameters of a URL's query, the first of each name. */
internal fun parameters(url: String): Map<String, String> =
    url.substringBefore('#').substringAfter('?', "").split("&").reversed().filter { it.isNotEmpty() }.associate {
        val value = it.substringAfter('=', "")
        it.substringBefore('=') to java.net.URLDecoder.decode(value, "UTF-8")
    }
