// Command scenario sends the requests of its standard input: go run ./scenario URL.
package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
)

func main() {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		name, body, _ := strings.Cut(lines.Text(), " ")
		url := os.Args[1] + "/test/v1/" + name
		response, err := http.Post(url, "application/json", strings.NewReader(body))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(response.StatusCode)
		if _, err := io.Copy(os.Stdout, response.Body); err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
	}
}
