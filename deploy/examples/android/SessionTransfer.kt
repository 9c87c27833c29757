package com.example.app

import android.net.Uri
import android.webkit.CookieManager
import android.webkit.WebView
import androidx.webkit.WebViewCompat
import java.net.HttpURLConnection
import java.net.URL
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.Dispatchers
import kotlinx.coroutines.launch
import kotlinx.coroutines.sync.Mutex
import kotlinx.coroutines.sync.withLock
import kotlinx.coroutines.withContext
import org.json.JSONException
import org.json.JSONObject

/**
 * Gets session-transfer tokens from the gateway for the app's refresh token. With Auth0.Android,
 * `credentialsManager.getSsoCredentials()` does the same.
 *
 * @param gateway the host with the gateway's endpoints, e.g. `https://auth.example.com`
 * @param keep puts a new refresh token where the app keeps it
 */
class TransferTokens(
    private val gateway: String,
    private val clientId: String,
    private var refreshToken: String,
    private val keep: (String) -> Unit,
) {
    private val lock = Mutex()

    /** A token that signs one WebView in, once and within a minute; null if the gateway refuses or cannot be reached. */
    suspend fun mint(): String? = lock.withLock {
        withContext(Dispatchers.IO) {
            val request = JSONObject()
                .put("grant_type", "refresh_token")
                .put("client_id", clientId)
                .put("refresh_token", refreshToken)
                .put("audience", "urn:${Uri.parse(gateway).host}:session_transfer")
            runCatching {
                val connection = URL("$gateway/oauth/token").openConnection() as HttpURLConnection
                try {
                    connection.requestMethod = "POST"
                    connection.doOutput = true
                    connection.setRequestProperty("Content-Type", "application/json")
                    connection.outputStream.use { it.write(request.toString().toByteArray()) }
                    if (connection.responseCode != 200) return@runCatching null
                    val answer = JSONObject(connection.inputStream.bufferedReader().use { it.readText() })
                    // The refresh token has been replaced: the one that was sent counts no more.
                    answer.optString("refresh_token").takeIf { it.isNotEmpty() }?.let {
                        refreshToken = it
                        keep(it)
                    }
                    answer.getString("access_token")
                } finally {
                    connection.disconnect()
                }
            }.getOrNull()
        }
    }
}

/**
 * Shows pages of the web app, in which the app's user is signed in, and stays signed in when the web session ends.
 *
 * @param origin where the pages are, e.g. `https://app.example.com`
 */
class TransferWebView(
    private val view: WebView,
    private val origin: String,
    private val tokens: TransferTokens,
    private val scope: CoroutineScope,
) {
    private val tries = ArrayDeque<Long>()

    init {
        view.settings.javaScriptEnabled = true
        // Only pages of this origin get the object `sallyport`, unlike with addJavascriptInterface.
        WebViewCompat.addWebMessageListener(view, "sallyport", setOf(origin)) { _, message, _, isMainFrame, _ ->
            val target = message.data?.let { target(it) }
            if (isMainFrame && target != null) open(target)
        }
    }

    /** Opens a path and query of the web app with a new token. */
    fun open(target: String) {
        scope.launch(Dispatchers.Main) {
            val token = if (mayTry()) tokens.mint() else null
            if (token == null) {
                // The user signs in by hand, and comes back to the page.
                view.loadUrl("$origin/.sallyport/login?return_to=${Uri.encode(target)}")
                return@launch
            }
            val cookies = CookieManager.getInstance()
            cookies.setCookie(origin, "auth0_session_transfer_token=$token; Path=/; Secure; HttpOnly")
            cookies.setCookie(origin, "__Host-sallyport-native=1; Path=/; Secure; HttpOnly")
            view.loadUrl(origin + target)
        }
    }

    /** The page that the gateway's page asks for; null if the message is no challenge of this site. */
    private fun target(message: String): String? = try {
        val challenge = JSONObject(message)
        val target = challenge.getString("return_to")
        val isOurs = challenge.getString("type") == "session_transfer" && challenge.getString("realm") == origin
        target.takeIf { isOurs && it.startsWith("/") && !it.startsWith("//") }
    } catch (_: JSONException) {
        null
    }

    /**
     * Three tries a minute. Without a bound, a device whose tokens are refused, or a WebView that keeps no cookies, would go
     * round for ever.
     */
    private fun mayTry(now: Long = System.currentTimeMillis()): Boolean {
        while (tries.isNotEmpty() && now - tries.first() > 60_000) tries.removeFirst()
        tries.addLast(now)
        return tries.size <= 3
    }
}
