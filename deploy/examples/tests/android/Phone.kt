// Runs the example's app for deploy/examples/tests/check.py: commands on standard input, one JSON object a line.
import android.content.Context
import android.content.Intent
import android.net.Uri
import android.security.keystore.Keystore
import android.webkit.WebResourceRequest
import android.webkit.WebView
import androidx.activity.ComponentActivity
import androidx.browser.auth.AuthTabIntent
import androidx.webkit.JavaScriptReplyProxy
import androidx.webkit.WebMessageCompat
import androidx.webkit.WebViewCompat
import androidx.webkit.WebViewFeature
import com.example.app.AppSession
import com.example.app.Gateway
import com.example.app.GatewayException
import com.example.app.KeystoreStore
import com.example.app.SystemBrowser
import com.example.app.WebApp
import com.example.app.WebAppView
import com.example.app.endOtherSessions
import com.example.app.endSession
import com.example.app.otherSessions
import java.util.concurrent.Executors
import kotlinx.coroutines.CompletableDeferred
import kotlinx.coroutines.CoroutineScope
import kotlinx.coroutines.SupervisorJob
import kotlinx.coroutines.asCoroutineDispatcher
import kotlinx.coroutines.async
import kotlinx.coroutines.awaitAll
import kotlinx.coroutines.coroutineScope
import kotlinx.coroutines.launch
import org.json.JSONObject

@Synchronized
fun say(vararg members: Pair<String, Any?>) = println(JSONObject(mapOf(*members)))

private class Request(override val url: Uri, override val isRedirect: Boolean) : WebResourceRequest {
    override val isForMainFrame = true
}

private class Phone(val origin: String, callback: String, returnTo: String, https: String, scopes: String) {
    private val main = Executors.newSingleThreadExecutor { Thread(it).apply { isDaemon = true } }.asCoroutineDispatcher()
    val scope = CoroutineScope(SupervisorJob() + main)
    private val activity = ComponentActivity()
    private val store = KeystoreStore(activity)
    private val codeGateway = Gateway(origin, "app", callback, scopes)
    private val httpsGateway = Gateway(origin, "app", https)
    private val exchangeGateway = Gateway(origin, "app", returnTo)
    private var session = AppSession(codeGateway, store)
    private var back = CompletableDeferred<Result<String>>()
    private val answered = { result: Result<String> -> back.complete(result).let {} }
    private val browsers = listOf(callback, returnTo, https).associateWith { SystemBrowser(activity, it, answered) }
    private var again: () -> Unit = {}
    private lateinit var view: WebView

    private suspend fun browse(page: String, callback: String): String {
        back = CompletableDeferred()
        browsers.getValue(callback).open(page)
        return back.await().getOrThrow()
    }

    private fun restart(gateway: Gateway) {
        session = AppSession(gateway, store)
    }

    suspend fun perform(name: String, parameters: JSONObject): Any? = when (name) {
        "state" -> if (session.isSignedIn()) "signedIn" else "signedOut"
        "stored" -> store.load("credential")?.let { JSONObject(it) }?.let {
            mapOf((if (it.getBoolean("isSession")) "sessionToken" else "refreshToken") to it.getString("token"))
        }
        "restart" -> restart(codeGateway)
        "signIn" -> signIn(codeGateway)
        "signInByHTTPS" -> signIn(httpsGateway)
        "signInByExchange" -> {
            restart(exchangeGateway)
            session.finishSignIn(browse(session.beginExchange("static"), exchangeGateway.callback))
        }
        "signOutOfTheBrowser" -> {
            restart(codeGateway)
            browse(session.signOutPage, codeGateway.callback)
        }
        "signOut" -> session.signOut().let { null }
        "transferToken" -> session.transferToken()
        "accessTokens" -> times(parameters) { session.accessToken() }
        "transferTokens" -> times(parameters) { session.transferToken() }
        "otherSessions" -> session.otherSessions().map { mapOf("id" to it.id) }
        "endSession" -> {
            val id = parameters.getJSONObject("session").getString("id")
            session.endSession(session.otherSessions().first { it.id == id })
        }
        "endOtherSessions" -> session.endOtherSessions()
        "fetch" -> session.get(origin + parameters.getString("path")).let { listOf(it.status, it.text) }
        "open" -> scope.async { open(parameters.getString("target")) }.await()
        "navigates" -> {
            val request = Request(Uri.parse(parameters.getString("url")), !parameters.getBoolean("link"))
            !view.webViewClient.shouldOverrideUrlLoading(view, request)
        }
        // An old WebView, which follows redirects by its client's leave.
        "old" -> {
            WebViewFeature.hasListener = false
            null
        }
        else -> throw IllegalArgumentException(name)
    }.let { if (it == Unit) null else it }

    private suspend fun signIn(gateway: Gateway) {
        restart(gateway)
        val page = session.beginSignIn()
        // The system ends the app meanwhile, and starts it again.
        restart(gateway)
        session.finishSignIn(browse(page, gateway.callback))
    }

    private fun open(target: String) {
        view = WebView(activity)
        val screen = object : WebAppView.Screen {
            override fun signIn() = say("signedOut" to true)

            override fun tryAgain(again: () -> Unit) {
                this@Phone.again = again
                say("tryAgain" to true)
            }
        }
        WebAppView(view, WebApp(origin), session, scope, screen).open(target)
    }

    private suspend fun times(parameters: JSONObject, work: suspend () -> String): List<String> = coroutineScope {
        List(parameters.optLong("count").toInt()) { async { work() } }.awaitAll()
    }

    fun event(name: String, parameters: JSONObject) {
        when (name) {
            "callback" -> {
                val url = if (parameters.isNull("url")) null else Uri.parse(parameters.getString("url"))
                val code = if (url == null) AuthTabIntent.RESULT_CANCELED else AuthTabIntent.RESULT_OK
                AuthTabIntent.callback(AuthTabIntent.AuthResult(code, url))
            }
            "tryAgain" -> again()
            "message" -> {
                // The system delivers messages of the listener's origins only.
                val sender = Uri.parse(parameters.getString("url").split("/").take(3).joinToString("/"))
                if (sender.toString() !in WebViewCompat.origins) return
                val message = WebMessageCompat(parameters.getString("data"))
                WebViewCompat.listener.onPostMessage(view, message, sender, parameters.getBoolean("mainFrame"), JavaScriptReplyProxy())
            }
        }
    }
}

fun main() {
    java.security.Security.addProvider(Keystore())
    val environment = System.getenv()
    val names = listOf("GATEWAY", "CALLBACK", "RETURN_TO", "HTTPS", "SCOPE")
    val (origin, callback, returnTo, https, scopes) = names.map(environment::getValue)
    val phone = Phone(origin, callback, returnTo, https, scopes)
    for (line in generateSequence(::readLine)) {
        val message = JSONObject(line)
        if (message.has("event")) {
            phone.scope.launch { phone.event(message.getString("event"), message) }
            continue
        }
        val id = message.optLong("id")
        CoroutineScope(SupervisorJob()).launch {
            try {
                say("id" to id, "value" to phone.perform(message.getString("do"), message))
            } catch (error: GatewayException) {
                say("id" to id, "error" to error.javaClass.simpleName.replaceFirstChar { it.lowercase() }, "reason" to error.message)
            } catch (error: Throwable) {
                say("id" to id, "error" to error.stackTraceToString())
            }
        }
    }
    System.exit(0)
}
